import type { Command } from 'commander'
import { wakeTime } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { SessionView } from '../../domain/api.ts'
import type { AddedTask } from '../../domain/task.ts'
import { openClient } from '../connection/client.ts'
import { sessionPath } from '../connection/connection.ts'
import { commandContext } from '../context.ts'
import { collect, priorityOption, refuseInSession } from '../options.ts'
import { counted } from '../render/format.ts'
import { firstLine } from '../render/text.ts'
import { resumeEnvironment } from '../session-env.ts'

interface AddOptions {
  priority?: number
  after?: string[]
}

/** `pcc add`: adds a task to a session's queue. */
export function addAddCommand(program: Command): void {
  program
    .command('add')
    .description('Add a task to a session’s queue, which it works through in one conversation')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .argument('<task>', 'what to do; - reads it from standard input')
    .option('--priority <n>', 'higher runs sooner (default: 0)', priorityOption)
    .option(
      '--after <task>',
      'run after this task: id, or unique beginning of an id or title; may be repeated',
      collect,
    )
    .option('--json', 'print JSON')
    .action(async (ref: string, typed: string, { priority, after }: AddOptions, command: Command) => {
      const { paths, json, out, ...context } = await commandContext(command)
      refuseInSession(context.env, `add ${ref} …`)
      const task = typed === '-' ? await taskFromStandardInput() : typed
      if (task.trim() === '')
        throw new AppError('usage', { problem: 'The task is empty: say in words what to do', command: 'add' })
      const client = await openClient(paths, context)
      const session = await client.request<SessionView>('GET', await sessionPath(ref))
      const env = await resumeEnvironment({ paths, env: context.env, project: session.project })
      const body = { task, env, ...(priority !== undefined && { priority }), ...(after && { after }) }
      const added = await client.request<AddedTask>('POST', `${await sessionPath(session.id)}/tasks`, body)
      if (json) return out(JSON.stringify(added, null, 2))
      for (const line of addedLines(added, session, Date.now())) out(line)
    })
}

/** A task may be longer than a command line allows. */
async function taskFromStandardInput(): Promise<string> {
  const { readStandardInput } = await import('../input.ts')
  return readStandardInput('add')
}

/** Says which task was queued and when it will run. */
function addedLines(added: AddedTask, session: Pick<SessionView, 'id' | 'status'>, now: number): string[] {
  const { id, title } = added.task
  const { problem } = added
  return [
    `Task queued: ${id} (${firstLine(title)})`,
    ...(problem ? [`The session could not go on with it: ${neutral(problem.message)}`, neutral(problem.next)] : []),
    describeStart(added, session, now),
  ]
}

function describeStart(
  { task, will, ahead, resumes_at }: AddedTask,
  { id, status }: Pick<SessionView, 'id' | 'status'>,
  now: number,
): string {
  switch (will) {
    case 'now':
      return `The session goes on with it. Watch with: pcc attach ${id}`
    case 'next':
      return 'It runs next, in the same conversation.'
    case 'in_line':
      return `${counted(ahead, 'task')} before it. See the queue with: pcc status ${id}`
    case 'after':
      if (task.reason !== null) return `It does not run by itself: it ${firstLine(task.reason)}.`
      return `It runs after ${task.after.join(', ')}.`
    case 'on_reset':
      return `It runs after the limit has reset${resumes_at === null ? '' : ` (${wakeTime(resumes_at, now)})`}.`
    case 'on_answer':
      return `It runs when the session has its answer. Answer with: pcc attach ${id}`
    case 'on_resume':
      return `${STATUS_WORDS[status] ? `The session is ${STATUS_WORDS[status]}. ` : ''}Run it with: pcc resume ${id}`
  }
}

const STATUS_WORDS: Partial<Record<SessionView['status'], string>> = {
  paused: 'paused',
  stopped: 'stopped',
  rate_limited: 'stopped by a limit',
  error: 'ended with an error',
}
