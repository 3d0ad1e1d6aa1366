import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { quoteForShell } from '../../base/words.ts'
import type { StartSession } from '../../domain/api.ts'
import { type Escalation, type EscalationAnswer, isSettled } from '../../domain/escalation.ts'
import { faultOf } from '../../domain/limit.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import {
  isOtherAccount,
  prepareOnAnyAccount,
  prepareResumed,
  refuseUngatedAgent,
  refuseWhenClosed,
  refuseWithSurvivors,
  type SupervisorContext,
} from '../context.ts'
import { refuseSpent } from '../guards/spending.ts'
import { type RestoredSession, restore } from './checkpoints.ts'
import type { PreparedSession } from './prepare.ts'
import { resumedRow, resumeParked } from './resume-parked.ts'
import { isStillWaiting } from './settle.ts'
import { isAliveInTerminal } from './terminal.ts'

export interface SessionResume {
  env: Record<string, string>
  /** Why the session goes on, for the log. */
  reason: string
  actor: 'daemon' | 'human'
  /** The checkpoint to go on from, in a new conversation. */
  from?: string | undefined
  /** What the session may spend in total; replaces the earlier budget. */
  budget?: StartSession['budget']
  /** The model from now on. */
  model?: string | undefined
  /** What the agent gets to read: what the session waited for has changed. */
  words?: string | undefined
}

/** How a person or the daemon asks for it: without an environment the session's own counts. */
export interface ResumeOrder extends Omit<SessionResume, 'env'> {
  env?: SessionResume['env'] | undefined
  /** A login that is not the session's is refused. */
  onlyHere?: boolean | undefined
  /** One of several: the caller tries accounts that may be mended when all have their login, or a try of the old one would come in between. */
  isOneOfSeveral?: boolean | undefined
}

/** Resumes a session that is paused, limited, stopped or failed, or that was given a new task after it was complete. */
export async function resumeSession(
  row: SessionRow,
  resume: SessionResume,
  supervisor: SupervisorContext,
): Promise<SessionRow> {
  const { store } = supervisor.deps
  await supervisor.sessions.get(row.id)?.done
  if (!supervisor.sessions.get(row.id)) await refuseWithSurvivors(row.id, supervisor)
  const current = withWishes((await store.sessions.get(row.id)) ?? row, resume)
  const answer = await readKeptAnswer(current, supervisor)
  if (answer) {
    await resumeParked(current, { said: answer, settled: true, env: resume.env }, supervisor)
    return (await store.sessions.get(row.id)) ?? current
  }
  if (current.parked && current.ended_as === 'waiting_input') throw waitsForAnswer(current)
  await refuseWithoutTasks(current, supervisor)
  const { ready, changesAccount } = await prepareMended(current, resume, supervisor)
  if (!supervisor.deps.terminals.isAttached(row.id)) refuseUngatedAgent(ready)
  if (resume.actor === 'human') await refuseSpent(current, ready.budgets, supervisor.deps)
  await retryFailedTask(current, supervisor)
  const withConversation = changesAccount ? { ...current, vendor_id: null } : current
  const restored = await restore(
    { row: withConversation, driver: ready.driver, env: ready.open.env, manifest: ready.manifest, from: resume.from },
    supervisor.deps,
  )
  refuseWhenClosed(supervisor)
  using _held = supervisor.conversations.take(restored.resume, supervisor.sessions.all())
  if (supervisor.sessions.get(row.id)) throw new AppError('session_running', { id: row.id })
  const { task_id } = restored
  const { refused, ...options } = current.options
  const changes = {
    ...(task_id && { task_id }),
    ...((resume.budget || resume.model !== undefined || refused !== undefined) && { options }),
    ...(changesAccount && { vendor_id: null }),
  }
  // An agent that still runs in its terminal keeps its marker, because its processes carry it.
  const oldMarker = (await isAliveInTerminal(current)) && current.marker !== null ? { marker: current.marker } : {}
  const patch = { ...resumedRow(supervisor, ready.account), parked: null, held_at: null, ...changes, ...oldMarker }
  crashPoint('resume.before-claim')
  const notes = [...restored.notes, ...(changesAccount ? [OTHER_ACCOUNT] : [])]
  const claim = () => claimResume(current, { patch, resume, notes }, supervisor)
  const { live, saved } = supervisor.sessions.launch({ ...current, ...patch }, ready, {
    prompt: promptOf(restored, [resume.words, current.options.landing?.told]),
    resume: restored.resume,
    afterLimit: wasLimited(current),
    claim,
  })
  await saved
  crashPoint('resume.after-claim')
  await live.control.admitted.promise
  return live.row
}

/** Whether a limit ended the session, also where another agent goes on in its place. */
function wasLimited({ ended_as, vendor_id, options: { handed } }: SessionRow): boolean {
  return ended_as === 'rate_limited' || (handed?.why === 'limit' && vendor_id === null)
}

const OTHER_ACCOUNT =
  'Its account could not be used: it goes on with the account that you have set, in a new conversation.'

/**
 * Prepares a session that goes on. If its account cannot be used, or its vendor does not answer, the account of the person's
 * environment and login takes its place. The conversation stays with the account that began it.
 */
async function prepareMended(
  row: SessionRow,
  { env, actor }: SessionResume,
  supervisor: SupervisorContext,
): Promise<{ ready: PreparedSession; changesAccount: boolean }> {
  if (!(await mayChangeAccount(row, actor, supervisor)))
    return { ready: await prepareResumed(row, env, supervisor), changesAccount: false }
  const ready = await prepareOnAnyAccount(row, env, supervisor)
  return { ready, changesAccount: isOtherAccount(row, ready) }
}

async function mayChangeAccount(
  { id, account, ended_as, parked }: SessionRow,
  actor: SessionResume['actor'],
  { deps: { store } }: SupervisorContext,
): Promise<boolean> {
  if (account === null || ended_as !== 'paused' || parked) return false
  const gate = await store.gates.get(account)
  if (gate && faultOf(gate)) return true
  const [end] = await store.events({ subject: id, kinds: ['session.ended'], tail: 1 })
  return actor === 'human' && end?.kind === 'session.ended' && end.body.failure === 'network'
}

/** Whether a session waits for an account that a person has to mend, or for a vendor that does not answer. */
export async function waitsForAccount({ account, state, ended_as, retries, options }: SessionRow, { gates }: Store) {
  const gate = account === null ? undefined : await gates.get(account)
  // A fault stays until a call succeeds, also while a session tries the account.
  if (gate && faultOf(gate)) return true
  // Work that was sent back to its agent waits for no vendor.
  return state === 'ended' && ended_as === 'paused' && retries > 0 && options.landing?.told === undefined
}

/** Adds what is new, such as the report on work that came back. A resumed conversation needs nothing but that. */
function promptOf({ prompt, resume }: RestoredSession, news: (string | undefined)[]): string {
  const texts = news.filter(text => text !== undefined)
  return [...(resume && texts.length > 0 ? [] : [prompt]), ...texts].join('\n\n')
}

/** The session as the person wants it from now on. Limits that the new budget does not name stay as they were. */
function withWishes(row: SessionRow, { budget, model }: SessionResume): SessionRow {
  const { options } = row
  const wishes = {
    ...(budget && { budget: { ...options.budget, ...budget } }),
    ...(model !== undefined && { model }),
  }
  return { ...row, options: { ...options, ...wishes } }
}

interface ResumeClaim {
  patch: Partial<SessionRow>
  resume: SessionResume
  notes: string[]
}

/** Takes the row. Of two resumes, or of a resume and a stop, only one succeeds. */
async function claimResume(
  row: SessionRow,
  { patch, resume, notes }: ResumeClaim,
  { deps }: SupervisorContext,
): Promise<undefined> {
  const { store } = deps
  await store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) throw new AppError('session_running', { id: row.id })
    await store.sessions.update(row.id, patch, tx)
    // Resuming the session answers its open error escalation.
    await openEscalations(deps).withdraw(row.id, 'the session goes on', tx)
    const { actor, reason } = resume
    await tx.append([
      { actor, subject: row.id, kind: 'session.resumed', body: { reason } },
      ...notes.map(text => ({ actor: 'daemon', subject: row.id, kind: 'session.noted' as const, body: { text } })),
    ])
  })
}

/** An answer that a person gave, but that has not been delivered to the agent yet. */
async function readKeptAnswer(row: SessionRow, { deps }: SupervisorContext): Promise<EscalationAnswer | undefined> {
  const number = row.parked?.number
  const escalation = number === undefined ? undefined : await deps.store.escalations.get(number)
  return escalation && isSettled(escalation) ? answerIn(escalation) : undefined
}

function answerIn({ verdict, answer, answer_reason, answered_by }: Escalation): EscalationAnswer {
  return {
    by: answered_by ?? 'human',
    ...(verdict !== null && { verdict }),
    ...(answer !== null && { answer }),
    ...(answer_reason !== null && { reason: answer_reason }),
  }
}

function waitsForAnswer({ id, parked }: SessionRow): AppError {
  return new AppError('session_waits_for_answer', { id, number: parked?.number ?? '<number>' })
}

/** Refuses a session whose work is done, before anything else is looked at: its worktree may be gone, and its login another one. */
async function refuseWithoutTasks(row: SessionRow, { deps }: SupervisorContext): Promise<void> {
  const complete = await findCompleteWork(row, deps)
  if (complete) throw new AppError('session_complete', { id: row.id, ...complete })
}

/** What a session has done, if nothing is left to do in it, and how a person goes on. */
export async function findCompleteWork(
  { id, task_id, ended_as, project, options }: SessionRow,
  { store, tasks }: Pick<SupervisorContext['deps'], 'store' | 'tasks'>,
): Promise<{ what: string; next: string } | undefined> {
  const state = task_id === null ? undefined : (await store.tasks.get(task_id))?.state
  const isDone = state === 'done' || state === 'cancelled' || (ended_as === 'completed' && state !== 'failed')
  if (!isDone || (await tasks.queue(id)).length > 0) return undefined
  const next = options.place
    ? `Add a task with: pcc task add "…" --project ${quoteForShell(project)}, then: pcc run ${quoteForShell(project)}`
    : `Give it a new task with: pcc add ${id} "…"`
  const what = state === undefined ? 'nothing is left in its queue' : `its task ${task_id} is ${state}`
  return { what, next }
}

/** A failed task is retried when its session is resumed. */
async function retryFailedTask(row: SessionRow, { deps: { store, tasks } }: SupervisorContext): Promise<void> {
  await store.transaction(async tx => {
    const task = row.task_id === null ? undefined : await store.tasks.get(row.task_id, tx)
    if (task?.state === 'failed') await tasks.transition(task.id, { to: 'ready', actor: 'human' }, tx)
  })
}
