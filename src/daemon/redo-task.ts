import { AppError } from '../base/errors.ts'
import type { Escalation, TaskAfterAnswer } from '../domain/escalation.ts'
import { isBegun, isOver, type Task } from '../domain/task.ts'
import type { SessionRow } from '../store/tables.ts'
import { mayBeDoneAgain } from '../supervisor/session/allow-once.ts'
import { type DaemonContext, getTasks } from './context.ts'

interface RefusedAnswer {
  verdict: 'allow' | 'deny'
  reason: string | undefined
  /** Exactly this request was allowed once. */
  again: boolean
  env: Record<string, string> | undefined
}

/** Throws if the task of a refused request cannot be done again, or not by the login of the person who answers. */
export async function refuseRedo(
  { number, task_id }: Escalation,
  env: RefusedAnswer['env'],
  { store, supervisor }: DaemonContext,
): Promise<void> {
  const task = task_id === null ? undefined : await store.tasks.get(task_id)
  const session = task?.session_id == null ? undefined : await store.sessions.get(task.session_id)
  const problem = !task
    ? 'its task is not there any more'
    : isGone(task, session)
      ? `its task ${task.id} is ${task.state}`
      : ''
  if (problem !== '') throw new AppError('answer_unfit', { number, problem: `${problem}; answer without --again` })
  if (env && session && standsStill(session)) await supervisor.checkLogin(session, env)
}

function isGone(task: Task, session: SessionRow | undefined): boolean {
  return isOver(task.state) && task.state !== 'failed' && !(session && mayBeDoneAgain(task, session))
}

/**
 * Lets the task of a refused request go on after a person's answer: in its conversation where there is one, otherwise in a run. A no
 * concerns only a task that waits for the answer: it goes on without the request.
 */
export async function goOnAfterAnswer(
  row: Escalation,
  answer: RefusedAnswer,
  daemon: DaemonContext,
): Promise<TaskAfterAnswer> {
  const { store, supervisor } = daemon
  const task = row.task_id === null ? undefined : await store.tasks.get(row.task_id)
  if (!task || (answer.verdict === 'allow' && !answer.again)) return 'as_it_is'
  const session = await store.sessions.get(task.session_id ?? row.session_id)
  if (isGone(task, session) || (task.state === 'done' && !answer.again)) return 'as_it_is'
  const words = describeAnswer(row, answer)
  const isWaiting = task.state === 'waiting' && session !== undefined && standsStill(session)
  if (task.state === 'done')
    await store.transaction(tx => getTasks(daemon).force(task, { to: 'ready', reason: words.story }, tx))
  const isEnded = task.state === 'failed' || task.state === 'done'
  if (isWaiting || (answer.again && isEnded && session && isOwnQueue(task, session))) {
    await supervisor.resume(session, { env: answer.env, reason: words.story, actor: 'human', words: words.prompt })
    return 'goes_on'
  }
  if (!answer.again) return 'as_it_is'
  if (isBegun(task)) return 'at_work'
  if (task.state === 'failed')
    await store.transaction(tx => getTasks(daemon).force(task, { to: 'ready', reason: words.story }, tx))
  await startRun(task, answer.env, daemon)
  return 'ready'
}

/** Whether the session waits for nothing but a person. */
function standsStill({ state, ended_as, resumes_at }: SessionRow): boolean {
  return state === 'ended' && ended_as === 'paused' && resumes_at === null
}

function isOwnQueue({ run_id }: Task, { options, state }: SessionRow): boolean {
  return run_id === null && options.run === undefined && state === 'ended'
}

function describeAnswer(
  { tool, target }: Escalation,
  { verdict, reason }: RefusedAnswer,
): { prompt: string; story: string } {
  const request = `${tool} ${target}`
  const why = reason === undefined ? '' : ` They say: ${reason}`
  if (verdict === 'deny')
    return {
      story: `a person said no to ${request}`,
      prompt: `A person has said no to the request that was refused (${request}).${why} Do the task without it, or say that it failed and why.`,
    }
  return {
    story: `a person allowed ${request} once`,
    prompt: `A person has now allowed, once, exactly the request that was refused (${request}).${why} Make it again, unchanged, and do the task.`,
  }
}

/** Works on the task in a run as before, unless a run that is under way takes it. */
async function startRun(task: Task, env: Record<string, string> | undefined, daemon: DaemonContext): Promise<void> {
  const { store, supervisor } = daemon
  const last = (await store.runs.attempts({ task: task.id })).at(-1)
  const before = last && (await store.runs.get(last.run_id))
  try {
    await supervisor.runs.start({
      ...before?.options,
      project: task.project,
      target: { kind: 'task', id: task.id },
      env: env ?? daemon.agentEnv,
    })
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'run_there')) throw error
  }
}
