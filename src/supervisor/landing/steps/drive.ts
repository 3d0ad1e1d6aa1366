import { crashPoint } from '../../../base/crash-point.ts'
import { AppError, messageOf, unreachable } from '../../../base/errors.ts'
import type { VerificationResult } from '../../../domain/workspace/evidence.ts'
import type { Tx } from '../../../store/store.ts'
import type { Finished, LandingParts, LandingSettings } from '../parts.ts'
import { resolveWords, type Work, workOf, worktreeWords } from '../work.ts'
import { factsOf, type KnownFacts } from './facts.ts'
import { followUp, queued } from './follow-up.ts'
import { askPerson, finish, refuse, sendBack } from './moves.ts'
import { nextStep } from './next-step.ts'
import { conflictReport, failureLine, reviewReport } from './report-text.ts'

/** How far a look has brought it. */
export type Driven =
  /** Nothing more can be done for it now. */
  | { over: true; lookAgainAt?: number | undefined }
  /** It stands in the queue of its target. */
  | { over: false }

interface Drive {
  parts: LandingParts
  /** Aborted when somebody else says what becomes of the task, or the daemon leaves. */
  signal: AbortSignal
  /** Resolves when a verification may begin. */
  turn(signal: AbortSignal): Promise<Disposable | undefined>
}

/** Makes as many steps with a task as can be made now. Whatever was moved by others meanwhile is theirs. */
export async function drive(id: string, { parts, signal, turn }: Drive): Promise<Driven> {
  const { store, clock } = parts.floor.parts
  for (let before = ''; ; ) {
    const work = await workOf(id, store)
    if (!work || signal.aborted) return { over: true }
    const settings = await parts.settingsOf(work.session)
    const facts = await factsOf(work, { settings, store, merges: parts.merges })
    if (facts.givenUp !== undefined) {
      const reason = `A person gave it up: ${facts.givenUp}`
      if (before === reason) return { over: true, lookAgainAt: clock.now() + REFUSED_MS }
      before = reason
      await once(parts, tx => refuseForGood(work, reason, parts, tx))
      continue
    }
    const step = nextStep(facts)
    // The same step from the same rows: it was refused, and would be again, at once and for ever.
    const now = JSON.stringify([step.do, work.task.state, work.task.attempt, work.note.verified, facts.merge])
    if (now === before) return { over: true, lookAgainAt: clock.now() + REFUSED_MS }
    before = now
    switch (step.do) {
      case 'nothing':
        return { over: true }
      case 'advance':
        return { over: false }
      case 'verify':
      case 'enqueue': {
        const later = await looked({ work, settings, parts, signal, turn }, step.do)
        if (later !== undefined) return { over: true, lookAgainAt: later }
        break
      }
      case 'release':
      case 'return':
      case 'look_anew':
        await afterReview(work, { facts, step: step.do }, parts)
        break
      case 'finish':
        await once(parts, tx => finish(work, step, parts.floor, tx))
        break
      default:
        return unreachable(step)
    }
  }
}

/** What was refused may be let through once something around it has changed. */
const REFUSED_MS = 60_000

interface Verifying extends Drive {
  work: Work
  settings: LandingSettings
}

/** What its agent was to finish in git is finished first; then the gates run, or are left out. A time: not before. */
async function looked(looking: Verifying, how: 'verify' | 'enqueue'): Promise<number | undefined> {
  const { work, settings, parts, signal, turn } = looking
  using place = await turn(signal)
  if (!place || signal.aborted) return undefined
  const rebase = await parts.finishRebase(work)
  if (rebase.kind !== 'whole') await once(parts, tx => notFinished(work, { rebase, settings }, parts, tx))
  else if (how === 'verify') return verified(looking)
  else await enqueueAsIs(work, settings, parts)
  parts.wake()
  return undefined
}

/** A conflict that is not resolved goes back as often as a failed check does; then a person has to look. */
async function notFinished(
  work: Work,
  { rebase, settings }: { rebase: Exclude<Finished, { kind: 'whole' }>; settings: LandingSettings },
  { floor }: LandingParts,
  tx: Tx,
): Promise<void> {
  const target = work.place?.target ?? 'its target'
  if (rebase.kind === 'broken') return askPerson(work, `${rebase.why}. ${worktreeWords(work)}`, floor, tx)
  const { conflict, missing } = rebase
  const reason = `it conflicts with ${target}${missing.length > 0 ? `: ${missing[0]}` : ''}`
  if (work.note.conflicts >= settings.rounds) return askPerson(work, `${reason}. ${resolveWords(work)}`, floor, tx)
  const told = conflictReport({ conflict, missing, target })
  return sendBack(work, { cause: 'conflict', reason, told }, floor, tx)
}

/** Runs the gates and does what follows. A time comes back where they cannot run now. */
async function verified({ work, settings, parts, signal }: Verifying): Promise<number | undefined> {
  const round = work.note.verified + 1
  const result = await parts.verify(work, round, signal)
  if (signal.aborted) return undefined
  if ('later' in result) return result.later
  crashPoint('landing.after-verify')
  await once(parts, async tx => {
    const now = await counted(work, round, parts, tx)
    await tx.append([verifiedEvent(now, round, result)])
    await followUp(now, { settings, result }, parts, tx)
    crashPoint('landing.before-commit')
  })
  crashPoint('landing.after-commit')
  parts.floor.log.info({ task: work.task.id, round, status: result.status }, 'verified')
  parts.wake()
  return undefined
}

/** What is not to be verified is committed and merged as it is. */
async function enqueueAsIs(work: Work, settings: LandingSettings, parts: LandingParts): Promise<void> {
  const committed = await parts.commit(work)
  await once(parts, tx =>
    'problem' in committed
      ? askPerson(work, committed.problem, parts.floor, tx)
      : queued(work, { settings, head: committed.head, review: settings.merge.review }, parts, tx),
  )
}

async function afterReview(
  work: Work,
  { facts, step }: { facts: KnownFacts; step: 'release' | 'return' | 'look_anew' },
  parts: LandingParts,
): Promise<void> {
  const { floor, merges } = parts
  await once(parts, async tx => {
    const merge = await merges.open(work.task.id, tx)
    if (step === 'release' && merge) return merges.release(merge, tx)
    if (merge) await merges.abort(merge, step === 'return' ? 'a person returned it' : 'it is looked at anew', tx)
    if (step === 'return') {
      const reason = `returned by a person${facts.comments ? `: ${facts.comments}` : ''}`
      return sendBack(work, { cause: 'review', reason, told: reviewReport(facts.comments) }, floor, tx)
    }
    const last = await merges.last(work.task.id, tx)
    if (last?.state === 'aborted' && last.attempt === work.place?.attempt) {
      return askPerson(work, `Its merge was called off${last.reason ? ` (${last.reason})` : ''}.`, floor, tx)
    }
    const { task } = work
    await floor.parts.tasks.transition(task.id, { to: 'verifying', attempt: task.attempt }, tx)
  })
  parts.wake()
}

/** One transaction; a task that somebody else moved meanwhile is left to them. */
export async function once(parts: LandingParts, work: (tx: Tx) => Promise<void>): Promise<void> {
  try {
    await parts.floor.parts.store.transaction(work)
  } catch (error) {
    const isTheirs = error instanceof AppError && (error.code === 'task_moved' || error.code === 'task_move_refused')
    if (!isTheirs) throw error
    parts.floor.log.info({ problem: messageOf(error) }, 'somebody else has said what becomes of it')
  }
}

/** Counted in its session's row, which is read in the transaction: others write to it too. */
async function counted(work: Work, round: number, { floor }: LandingParts, tx: Tx): Promise<Work> {
  const { store } = floor.parts
  const session = (await store.sessions.get(work.session.id, tx)) ?? work.session
  const note = { ...work.note, ...session.options.landing, verified: round }
  const options = { ...session.options, landing: note }
  await store.sessions.update(session.id, { options }, tx)
  return { ...work, note, session: { ...session, options } }
}

function verifiedEvent({ task, session }: Work, round: number, result: VerificationResult) {
  const checks = result.checks.map(({ gate, status, cached, duration_ms }) => ({ gate, status, cached, duration_ms }))
  const body = {
    ...{ task_id: task.id, title: task.title, attempt: task.attempt, round, status: result.status, checks },
    ...(result.status !== 'passed' && { problem: failureLine(result) }),
    ...(result.commit !== null && { commit: result.commit }),
  }
  return { actor: 'daemon', subject: session.id, kind: 'task.verified' as const, body }
}

/** A person gave it up: no other attempt follows by itself. */
async function refuseForGood(work: Work, reason: string, { floor, merges }: LandingParts, tx: Tx): Promise<void> {
  const merge = await merges.open(work.task.id, tx)
  if (merge) await merges.abort(merge, reason, tx)
  await refuse({ ...work, run: undefined }, reason, floor, tx)
}
