import { createHash } from 'node:crypto'
import { relative, resolve } from 'node:path'
import type { Assessment } from '../../domain/assessment.ts'
import { type Escalation, mayBeAllowedOnce } from '../../domain/escalation.ts'
import type { Request, Verdict } from '../../domain/session.ts'
import type { Task } from '../../domain/task.ts'
import { workDirectory } from '../../domain/worktree.ts'
import { hashPath, isIncomplete } from '../../policy/paths/look.ts'
import type { Decision } from '../../policy/verdict/decide.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { eventOf, type LiveSession, type LiveSessionEnding, refuseStale, type SessionContext } from './context.ts'
import { sortFields, targetOf } from './tool-call.ts'

/*
 * A request that was refused because nobody was there may be allowed afterwards, once (`pcc respond <number> --approve --again`).
 * The yes is a column of the refused request's row. It holds for the same request of the current attempt at the same task, in a tree
 * with the same target branch in which the files that the request runs are the same. It is taken in a transaction of its own before
 * the agent gets its verdict: if the daemon dies in between, the yes is gone and the request is refused again.
 */

interface JudgedCall {
  request: Request
  assessment: Assessment
  decision: Decision
}

/** Neither a rule nor a limit of the worktree can be lifted by a yes, nor a secret that the person who says it cannot see. */
function isLiftable({ decision, assessment }: Pick<JudgedCall, 'decision' | 'assessment'>): boolean {
  if (assessment.reasons.some(({ code }) => code === 'secret.leaves' || code.startsWith('boundary.'))) return false
  return decision.verdict === 'ask' || (decision.verdict === 'deny' && decision.morning === true)
}

/** The hash by which a later request is recognised as exactly this one; null if no yes may be used for it later. */
export function boundTo(call: JudgedCall, { row }: Pick<LiveSession, 'row'>): string | null {
  if (row.task_id === null || !isLiftable(call)) return null
  const { request, assessment } = call
  const { description: _, command, timeout: ___, ...rest } = request.input
  const files = { ...hashNamedFiles(command, request.cwd), ...assessment.files }
  if (assessment.hasUnread || isIncomplete(files)) return null
  // A command is compared as the policy reads it; of every other tool the whole input counts.
  const asked = request.tool === 'Bash' ? [assessment.normalised, rest] : [assessment.normalised, request.input]
  const tree = [row.options.place?.target ?? null, files]
  const where = relative(workDirectory(row), request.cwd)
  const text = JSON.stringify([row.project, row.task_id, request.tool, asked, where, tree], sortFields)
  return createHash('sha256').update(withoutDirectory(text, row)).digest('hex')
}

/** The files that a command names, in whatever language they are: an interpreter may run them. */
function hashNamedFiles(command: unknown, cwd: string): Record<string, string> {
  if (typeof command !== 'string') return {}
  const paths = new Set(command.split(/[\s;|&<>()'"`=,:]+/).map(word => resolve(cwd, word)))
  const hashes = [...paths].map(path => [path, hashPath(path)] as const)
  return Object.fromEntries(hashes.filter(([, hash]) => hash !== 'absent' && hash !== 'no file'))
}

/** The request without the name of the attempt's worktree; undefined if it does not name it. */
export function spellingOf(normalised: string, row: Pick<SessionRow, 'options' | 'project'>): string | undefined {
  const spelling = withoutDirectory(normalised, row)
  return spelling === normalised ? undefined : spelling
}

function withoutDirectory(text: string, row: Pick<SessionRow, 'options' | 'project'>): string {
  return row.options.place ? text.replaceAll(row.options.place.top, '⟨worktree⟩') : text
}

/** The verdict on a request that a person has allowed once; the yes is used up by it. */
export async function spendAllowance(call: JudgedCall, { live, deps }: SessionContext): Promise<Verdict | undefined> {
  const { request, decision } = call
  const bound = boundTo(call, live)
  const { task_id } = live.row
  if (bound === null || task_id === null) return undefined
  const { store, clock } = deps
  const used = await store.transaction(async tx => {
    await refuseStale(live, tx)
    const task = await store.tasks.get(task_id, tx)
    const isOurs = task?.state === 'running' && task.attempt === (live.agent.attempt ?? task.attempt)
    if (!isOurs) return undefined
    const row = await store.escalations.spendAllowance({ bound, task: task_id, now: clock.now() }, tx)
    if (!row) return undefined
    const by = row.answered_by ?? 'human'
    const body = {
      ...{ number: row.number, call_id: request.callId, task: task_id, attempt: task.attempt, tool: request.tool },
      ...{ target: targetOf(request.input, workDirectory(live.row)), by },
    }
    await tx.append([eventOf(live, 'allowance.used', body, 'daemon')])
    return { number: row.number, by }
  })
  if (!used) return undefined
  live.log.info({ number: used.number, tool: request.tool }, 'allowed once by a person; that is used up now')
  const reason = `allowed once by a person (decision ${used.number})`
  return { verdict: 'allow', risk: decision.risk, reason, confidence: 1, by: used.by }
}

/** The refused requests of a session's task that only a person can allow. */
export async function findRefusals(
  { id, task_id }: Pick<SessionRow, 'id' | 'task_id'>,
  { escalations }: Pick<Store, 'escalations'>,
): Promise<Escalation[]> {
  const refused = await escalations.list({ session: id, states: ['denied'] })
  return refused.filter(row => row.kind === 'permission' && row.bound !== null && row.task_id === task_id)
}

/**
 * Whether a task only counts as done because the turn of its session ended: no run is responsible for it and nothing has proven it. What its
 * agent was refused may be what is missing, so a person's yes still begins it again.
 */
export function mayBeDoneAgain(task: Task, { options, ended_as }: Pick<SessionRow, 'options' | 'ended_as'>): boolean {
  const isByWord = task.state === 'done' && task.verification !== 'passed' && ended_as === 'completed'
  return isByWord && task.run_id === null && options.run === undefined && options.place === undefined
}

/** The numbers of refused requests whose task a yes begins again although its agent has ended it. */
export async function findDoneAgain(
  refused: readonly Escalation[],
  tasks: ReadonlyMap<string, Task>,
  store: Pick<Store, 'sessions'>,
): Promise<Set<number>> {
  const ended = refused.flatMap(row => {
    const task = tasks.get(row.task_id ?? '')
    return task?.state === 'done' && task.session_id !== null && mayBeAllowedOnce(row)
      ? [{ number: row.number, task, session: task.session_id }]
      : []
  })
  const ids = [...new Set(ended.map(({ session }) => session))]
  const sessions = new Map((ids.length === 0 ? [] : await store.sessions.of(ids)).map(row => [row.id, row]))
  return new Set(
    ended.flatMap(({ number, task, session }) => {
      const row = sessions.get(session)
      return row && mayBeDoneAgain(task, row) ? number : []
    }),
  )
}

/** What a task waits for whose agent was refused something and could not do without it. */
export function describeRefusals([first, ...others]: readonly Escalation[]): string {
  if (!first) return ''
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return `waits for your yes to ${first.tool} ${first.target}${more}: pcc respond ${first.number} --approve --again`
}

/**
 * The agent gave its task up after a request was refused that only a person can allow. Another attempt, or a stronger model, would
 * be refused as well: the task waits in its conversation, and counts no retry.
 */
export function waitsForYes(
  refusals: readonly Escalation[],
  { reason, text }: { reason: string; text: string },
  live: LiveSession,
): LiveSessionEnding {
  const waits = describeRefusals(refusals)
  return {
    as: 'paused',
    reason: `It ${waits}\nThe agent says: ${reason}\nWithout your yes: pcc resume ${live.id}`,
    task: { to: 'waiting', reason: `${waits}; the agent says: ${reason}`, result: text },
    checkpoint: 'error',
    patch: { options: { ...live.row.options, refused: refusals[0]?.number } },
  }
}
