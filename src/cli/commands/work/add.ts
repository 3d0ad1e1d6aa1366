import { type Command, InvalidArgumentError } from 'commander'
import { AppError } from '../../../base/errors.ts'
import type { SessionView } from '../../../domain/api.ts'
import type { AddedTask } from '../../../domain/task.ts'
import { openClient } from '../../client.ts'
import { sessionPath } from '../../connection/session-path.ts'
import { contextOf } from '../../context.ts'
import { environmentToGoOn } from '../../session-env.ts'
import { refuseInSession } from '../decide/own-terminal.ts'
import { addedLines } from './added-lines.ts'

interface AddOptions {
  priority?: number
  after?: string[]
}

/** `pcc add`: one more task for a session's queue. */
export function addAddCommand(program: Command): void {
  program
    .command('add')
    .description('Add a task to a session’s queue; a session works through it in one conversation.')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .argument('<task>', 'what to do; - reads it from standard input')
    .option('--priority <n>', 'higher runs sooner (default: 0)', wholeNumber)
    .option(
      '--after <task>',
      'run after this task: id, or unique beginning of an id or title; may be repeated',
      collect,
    )
    .option('--json', 'print JSON')
    .action(async (ref: string, typed: string, { priority, after }: AddOptions, command: Command) => {
      const { places, json, out, ...context } = await contextOf(command)
      refuseInSession(context.env, `add ${ref} …`)
      const task = typed === '-' ? await standardInput() : typed
      if (task.trim() === '') throw new AppError('task_empty', {})
      const client = await openClient(places, context)
      const session = await client.request<SessionView>('GET', await sessionPath(ref))
      const env = await environmentToGoOn({ places, env: context.env, project: session.project })
      const body = { task, env, ...(priority !== undefined && { priority }), ...(after && { after }) }
      const added = await client.request<AddedTask>('POST', `${await sessionPath(session.id)}/tasks`, body)
      if (json) return out(JSON.stringify(added, null, 2))
      for (const line of addedLines(added, session, Date.now())) out(line)
    })
}

function wholeNumber(text: string): number {
  if (!/^[+-]?\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, as in 10 or -1.')
  return Number(text)
}

function collect(ref: string, before: string[] = []): string[] {
  return [...before, ref]
}

/** A task may be longer than a command line; one that is not text is refused before it is half understood. */
async function standardInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new AppError('usage', { problem: 'what came on standard input is not text in UTF-8', command: 'add' })
  }
}
