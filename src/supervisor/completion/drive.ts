import { crashPoint } from '../../base/crash-point.ts'
import { AppError, messageOf, unreachable } from '../../base/errors.ts'
import { findFailedBefore, isBroken, isEmptyDiff, UNPROVEN, type VerificationResult } from '../../domain/evidence.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Tx } from '../../store/store.ts'
import { type ContinueResult, continueRebase } from '../../workspace/merge/continue-replay.ts'
import { changeMergeIn } from '../../workspace/merge/merge-state.ts'
import { enqueueMerge } from '../../workspace/merge/queue.ts'
import { commitLeftovers } from '../../workspace/verify/commit-leftovers.ts'
import type { CompletionDeps, CompletionSettings, Unproven } from './context.ts'
import { askAcceptance, askPerson, askReview, finishTask, refuseWork, sendBack, waitForRefused } from './moves.ts'
import { afterVerification, isAboutFailedBefore, nextStep } from './next-step.ts'
import { type KnownCompletionFacts, readFacts } from './read-facts.ts'
import { conflictReport, describeConcerns, failureLine, failureReport, reviewReport } from './report-text.ts'
import {
  acceptedConcerns,
  countRound,
  describeConflict,
  describeWorktree,
  type FinishedWork,
  findWork,
} from './work.ts'

/** How far the completion of a task has come. */
export type DriveResult =
  /** Nothing more can be done for the task now. */
  | { over: true; checkAgainAt?: number | undefined }
  /** The task is in the merge queue of its target. */
  | { over: false }

interface DriveOptions {
  deps: CompletionDeps
  /** Aborted when a person decides what becomes of the task, or the daemon stops. */
  signal: AbortSignal
  /** Resolves when a verification may begin. */
  turn(signal: AbortSignal): Promise<Disposable | undefined>
}

/** Takes every step with a task that is possible now. A task that others have moved meanwhile is left to them. */
export async function driveTask(id: string, { deps, signal, turn }: DriveOptions): Promise<DriveResult> {
  const { store, clock } = deps.supervisor.deps
  for (let before = ''; ; ) {
    const work = await findWork(id, store)
    if (!work || signal.aborted) return { over: true }
    const settings = await deps.settingsOf(work.session)
    const facts = await readFacts(work, { settings, store })
    if (facts.givenUp !== undefined) {
      const reason = `A person gave it up: ${facts.givenUp}`
      if (before === reason) return { over: true, checkAgainAt: clock.now() + REFUSED_RETRY_MS }
      before = reason
      await inOneTransaction(deps, tx => refuseForGood(work, reason, deps, tx))
      continue
    }
    if ((facts.unchecked && settings.checks) || (facts.failedBefore && settings.allowsKnownFailures)) {
      await inOneTransaction(deps, tx => withdrawQuestion(work, deps, tx))
      continue
    }
    const step = nextStep(facts)
    // The same step from the same rows was refused just now, and would be refused again at once and for ever.
    const current = JSON.stringify([step.do, work.task.state, work.task.attempt, work.progress.verified, facts.merge])
    if (current === before) return { over: true, checkAgainAt: clock.now() + REFUSED_RETRY_MS }
    before = current
    switch (step.do) {
      case 'nothing':
        // Nothing tells the daemon that a person has set up or trusted checks, or lets known failures pass.
        return {
          over: true,
          ...((facts.unchecked ?? facts.failedBefore) && { checkAgainAt: clock.now() + UNCHECKED_RETRY_MS }),
        }
      case 'advance':
        return { over: false }
      case 'verify':
      case 'enqueue': {
        const later = await verifyOrEnqueue({ work, settings, deps, signal, turn }, step.do)
        if (later !== undefined) return { over: true, checkAgainAt: later }
        break
      }
      case 'accept':
        await acceptWork(work, { facts, settings }, deps)
        break
      case 'release':
      case 'return':
      case 'verify_anew':
        await afterReview(work, { facts, step: step.do }, deps)
        break
      case 'finish':
        await inOneTransaction(deps, tx => finishTask(work, step, deps.supervisor, tx))
        break
      default:
        return unreachable(step)
    }
  }
}

/** The wait before a refused step is tried again: other rows may have changed by then. */
const REFUSED_RETRY_MS = 60_000
/** How often work that nothing checks looks whether something does now. */
const UNCHECKED_RETRY_MS = 10_000

interface VerifyOptions extends DriveOptions {
  work: FinishedWork
  settings: CompletionSettings
}

/** Finishes the rebase that was left to the agent, then runs the gates or skips them. Returns a time if they cannot run before it. */
async function verifyOrEnqueue(options: VerifyOptions, how: 'verify' | 'enqueue'): Promise<number | undefined> {
  const { work, settings, deps, signal, turn } = options
  using slot = await turn(signal)
  if (!slot || signal.aborted) return undefined
  const rebase = work.worktree ? await continueRebase(work.worktree) : ({ kind: 'none' } as const)
  if (rebase.kind !== 'none' && rebase.kind !== 'done')
    await inOneTransaction(deps, tx => sendConflictBack(work, { rebase, settings }, deps, tx))
  else if (how === 'verify') return verifyNow(options)
  else await enqueueAsIs(work, settings, deps)
  deps.wake()
  return undefined
}

/** An unresolved conflict goes back to the agent as often as a failed check does; then a person is asked. */
async function sendConflictBack(
  work: FinishedWork,
  { rebase, settings }: { rebase: Exclude<ContinueResult, { kind: 'none' | 'done' }>; settings: CompletionSettings },
  { supervisor }: CompletionDeps,
  tx: Tx,
): Promise<void> {
  const target = work.worktree?.target ?? 'its target'
  if (rebase.kind === 'broken') return askPerson(work, `${rebase.why}. ${describeWorktree(work)}`, supervisor, tx)
  const { conflict } = rebase
  const missing = rebase.kind === 'unresolved' ? rebase.missing : []
  const reason = `it conflicts with ${target}${missing.length > 0 ? `: ${missing[0]}` : ''}`
  if (work.progress.conflicts >= settings.rounds)
    return askPerson(work, `${reason}. ${describeConflict(work)}`, supervisor, tx)
  const report = conflictReport({ conflict, missing, target })
  return sendBack(work, { cause: 'conflict', reason, report }, supervisor, tx)
}

/** Runs the gates and does what follows from their result. Returns a time if they cannot run now. */
async function verifyNow({ work, settings, deps, signal }: VerifyOptions): Promise<number | undefined> {
  const round = work.progress.verified + 1
  const result = await deps.verify(work, round, signal)
  if (signal.aborted) return undefined
  if ('later' in result) return result.later
  crashPoint('landing.after-verify')
  const isUnproven = result.status === 'passed' && !result.isProven
  const unproven = isUnproven ? await deps.describeUnproven(work, result) : { why: '' }
  await inOneTransaction(deps, async tx => {
    const counted = await countRound(work, deps.supervisor.deps.store, tx, round)
    await tx.append([verifiedEvent(counted, round, result)])
    await followUp(counted, { settings, result, unproven }, deps, tx)
    crashPoint('landing.before-commit')
  })
  crashPoint('landing.after-commit')
  deps.supervisor.log.info({ task: work.task.id, round, status: result.status }, 'verified')
  deps.wake()
  return undefined
}

/** Commits and merges work as it is that is not to be verified. */
async function enqueueAsIs(work: FinishedWork, settings: CompletionSettings, deps: CompletionDeps): Promise<void> {
  const { worktree, task } = work
  const committed = worktree ? await commitLeftovers(worktree, task.title) : NO_WORKTREE
  await inOneTransaction(deps, tx =>
    committed.ok
      ? enqueueWork(work, { settings, head: committed.commit, review: settings.merge.review }, deps, tx)
      : askPerson(work, committed.finding.text, deps.supervisor, tx),
  )
}

/** A person accepts the work although they were shown concerns: it is merged, or done where there is nothing to merge. */
async function acceptWork(
  work: FinishedWork,
  { facts, settings }: { facts: KnownCompletionFacts; settings: CompletionSettings },
  deps: CompletionDeps,
): Promise<void> {
  const { store } = deps.supervisor.deps
  // What they accepted before stays accepted: on top of its target something else may be found in the same work.
  const accepted = [...new Set([...(work.progress.accepted ?? []), ...facts.concerns])]
  const options = { ...work.session.options, landing: { ...work.progress, accepted } }
  const session = { ...work.session, options }
  await store.transaction(tx => store.sessions.update(session.id, { options }, tx))
  const released = { ...work, session, progress: options.landing }
  const { merge } = settings
  // They have looked at it: no second review is asked for.
  if (facts.merges) return enqueueAsIs(released, { ...settings, merge: { ...merge, review: false } }, deps)
  const isProven = !facts.concerns.some(concern => concern === UNPROVEN || isAboutFailedBefore(concern))
  const verification = isProven ? 'passed' : 'unverified'
  const reason = describeUnmerged(work) ?? 'accepted by a person'
  await inOneTransaction(deps, tx => finishTask(released, { verification, reason }, deps.supervisor, tx))
}

/** Takes the question about unproven work back: it can be checked now. */
async function withdrawQuestion(
  { session, task }: FinishedWork,
  { supervisor }: CompletionDeps,
  tx: Tx,
): Promise<void> {
  await supervisor.deps.store.tasks.swap(task, { reason: null }, tx)
  await openEscalations(supervisor.deps).withdraw(session.id, 'it can be checked now', tx)
}

const NO_WORKTREE = { ok: false, finding: { text: 'it has no worktree, so there is nothing to merge' } } as const

async function afterReview(
  work: FinishedWork,
  { facts, step }: { facts: KnownCompletionFacts; step: 'release' | 'return' | 'verify_anew' },
  deps: CompletionDeps,
): Promise<void> {
  const { supervisor } = deps
  const { store, tasks } = supervisor.deps
  await inOneTransaction(deps, async tx => {
    const merge = await store.merges.open(work.task.id, tx)
    if (step === 'release' && merge) {
      await changeMergeIn(merge, { state: 'queued', reason: null }, supervisor.deps, tx)
      return
    }
    const why = step === 'return' ? 'a person returned it' : 'it is verified anew'
    if (merge) await changeMergeIn(merge, { state: 'aborted', reason: why }, supervisor.deps, tx)
    if (step === 'return') {
      const reason = `returned by a person${facts.comments ? `: ${facts.comments}` : ''}`
      return sendBack(work, { cause: 'review', reason, report: reviewReport(facts.comments) }, supervisor, tx)
    }
    const last = (await store.merges.list({ task: work.task.id, limit: 1 }, tx)).at(-1)
    if (last?.state === 'aborted' && last.attempt === work.worktree?.attempt) {
      return askPerson(work, `Its merge was called off${last.reason ? ` (${last.reason})` : ''}.`, supervisor, tx)
    }
    const { task } = work
    await tasks.transition(task.id, { to: 'verifying', attempt: task.attempt }, tx)
  })
  deps.wake()
}

/** Runs one transaction. A task that others have moved meanwhile is left to them. */
export async function inOneTransaction(deps: CompletionDeps, work: (tx: Tx) => Promise<void>): Promise<void> {
  try {
    await deps.supervisor.deps.store.transaction(work)
  } catch (error) {
    const isMoved = error instanceof AppError && (error.code === 'task_moved' || error.code === 'task_move_refused')
    if (!isMoved) throw error
    deps.supervisor.log.info({ problem: messageOf(error) }, 'the task was moved by somebody else meanwhile')
  }
}

function verifiedEvent({ task, session }: FinishedWork, round: number, result: VerificationResult) {
  const checks = result.checks.map(({ gate, status, cached, duration_ms, findings }) => {
    const isFromBefore = findFailedBefore([{ status, findings }]) !== undefined
    return { gate, status, cached, duration_ms, ...(isFromBefore && { failed_before: true }) }
  })
  const body = {
    ...{ task_id: task.id, title: task.title, attempt: task.attempt, round, status: result.status, checks },
    ...(result.status !== 'passed' && { problem: failureLine(result) }),
    ...(result.commit !== null && { commit: result.commit }),
  }
  return { actor: 'daemon', subject: session.id, kind: 'task.verified' as const, body }
}

/** Ends work that a person gave up: no other attempt follows by itself. */
async function refuseForGood(
  work: FinishedWork,
  reason: string,
  { supervisor }: CompletionDeps,
  tx: Tx,
): Promise<void> {
  const merge = await supervisor.deps.store.merges.open(work.task.id, tx)
  if (merge) await changeMergeIn(merge, { state: 'aborted', reason }, supervisor.deps, tx)
  await refuseWork({ ...work, run: undefined }, reason, supervisor, tx)
}

/** Does what follows from a verification, in the transaction that counts it. */
async function followUp(
  work: FinishedWork,
  { settings, result, unproven }: { settings: CompletionSettings; result: VerificationResult; unproven: Unproven },
  deps: CompletionDeps,
  tx: Tx,
): Promise<void> {
  const { supervisor } = deps
  const { rounds, merge } = settings
  const { run, worktree, progress } = work
  const { failed } = progress
  const isUnchanged = result.tree !== null && result.tree === progress.returned_tree
  const accepted = acceptedConcerns(progress, settings)
  const context = { rounds, review: merge.review, failed, accepted, hasRun: run !== undefined, isUnchanged }
  const step = afterVerification(result, { ...context, merges: worktree !== undefined && merge.mode !== 'off' })
  // Nothing was changed because something was refused: asked or checked again, the agent would only be refused again.
  const isRefused = WITHOUT_PROOF.has(step.do) && isEmptyDiff(result.checks)
  if (isRefused && (await waitForRefused(work, { reason: 'it changed nothing', times: 1 }, supervisor, tx))) return
  switch (step.do) {
    case 'finish':
      return finishTask(work, { verification: step.verification, reason: describeUnmerged(work) }, supervisor, tx)
    case 'ask_acceptance':
      return askAcceptance(
        work,
        describeConcerns(work, { concerns: step.concerns, unproven, settings, checks: result.checks }),
        supervisor,
        tx,
      )
    case 'enqueue':
    case 'ask_review':
      return enqueueWork(work, { settings, head: result.commit ?? '', review: step.do === 'ask_review' }, deps, tx)
    case 'send_back': {
      const times = { number: progress.failed + 1, of: rounds }
      const reason = `${failureLine(result)}; sent back (${times.number} of ${times.of})`
      return sendBack(
        work,
        { cause: 'gates', reason, report: failureReport(result, times), tree: result.tree },
        supervisor,
        tx,
      )
    }
    case 'try_anew':
    case 'fail':
      return refuseWork(work, `${failureLine(result)}, ${describeFailures(progress.failed + 1)}`, supervisor, tx)
    case 'escalate':
      return askPerson(work, describeBroken(result), supervisor, tx)
    default:
      return unreachable(step)
  }
}

/** What follows where a task is not shown to be done. */
const WITHOUT_PROOF: ReadonlySet<string> = new Set(['send_back', 'escalate', 'ask_acceptance'])

/** Puts work into the merge queue of its target; work that needs a review waits there for a person. */
async function enqueueWork(
  work: FinishedWork,
  { settings, head, review }: EnqueueOptions,
  { supervisor }: CompletionDeps,
  tx: Tx,
): Promise<void> {
  const { task, worktree } = work
  const { store, clock, tasks } = supervisor.deps
  const reason = review ? `waits for your review: pcc review ${task.id}` : undefined
  await tasks.transition(task.id, { to: 'merging', reason, attempt: task.attempt }, tx)
  if (!worktree) throw new AppError('merge_no_worktree', { task: task.id, attempt: '' })
  const { strategy, mode } = settings.merge
  const wanted = { strategy, head, review, asPullRequest: mode === 'pr' }
  const merge = await enqueueMerge(worktree, wanted, { store, clock, tx })
  if (review) await askReview(work, merge.id, supervisor, tx)
}

interface EnqueueOptions {
  settings: CompletionSettings
  /** The commit that is to be merged. */
  head: string
  /** A person has to look at it first. */
  review: boolean
}

/** Says where the work of a finished task is that the settings do not merge. */
function describeUnmerged({ worktree, task }: FinishedWork): string | undefined {
  return worktree && `its work stands on ${worktree.branch} and is not merged, as the settings say: pcc diff ${task.id}`
}

function describeBroken({ checks, next_steps }: VerificationResult): string {
  const broken = checks.filter(isBroken)
  const problems = broken.map(({ gate, command, output }) => {
    const lines = output.trim().split('\n').slice(-3)
    const isSaid = next_steps.some(step => step.includes(lines.at(-1) ?? ''))
    const last = isSaid ? '' : lines.join(' ').slice(0, 300)
    return `${gate}${command === null ? '' : ` (${command})`} could not run${last === '' ? '' : `: ${last}`}`
  })
  const problem = problems.length > 0 ? problems.join('; ') : 'it could not be verified'
  return [problem, ...next_steps].join('. ').slice(0, 900)
}

function describeFailures(count: number): string {
  return count === 1 ? 'and it does not go back' : `${count} times in one conversation`
}
