import { AppError, unreachable } from '../../base/errors.ts'
import { redactValues } from '../../base/redact.ts'
import { type AgentToolName, type ToolReply, toolInput } from '../../domain/tools/agent-tools.ts'
import { addDependency, addTask } from './add-task.ts'
import type { ToolCall } from './caller.ts'
import { claim, note } from './claim.ts'
import { draftDependency, draftTask } from './draft-task.ts'
import { keepNote } from './note.ts'
import { searchAll } from './search.ts'

/**
 * Runs a tool of ours for an agent. It is heard like anybody else at the door: checked, capped, and kept to its own project and its
 * own task. Whatever is refused is told to it, with why. Never throws.
 */
export async function callTool(name: AgentToolName, input: unknown, call: ToolCall): Promise<ToolReply> {
  const { run } = call
  if (!run.open.ownTools?.includes(name)) return refused(`${name} is not among the tools of this session`)
  try {
    const reply = await dispatch(name, redactValues(input, run.secrets), call)
    run.log.info({ tool: name, ok: reply.ok }, 'tool of ours called')
    return reply
  } catch (error) {
    if (error instanceof AppError) return refused(error.message)
    run.log.error({ error, tool: name }, 'a tool of ours failed')
    return refused('it failed inside of the supervisor; go on without it and say so in your report')
  }
}

async function dispatch(name: AgentToolName, input: unknown, call: ToolCall): Promise<ToolReply> {
  const drafts = call.run.row.options.feature !== undefined
  switch (name) {
    case 'add_task':
      return checked('add_task', input, task => (drafts ? draftTask(task, call) : addTask(task, call)))
    case 'add_dependency':
      return checked('add_dependency', input, edge =>
        drafts ? draftDependency(edge, call) : addDependency(edge, call),
      )
    case 'log':
      return checked('log', input, ({ text }) => note(text, call))
    case 'done':
      return checked('done', input, ({ summary = '' }) => claim({ claim: 'done', text: summary }, call))
    case 'failed':
      return checked('failed', input, ({ reason }) => claim({ claim: 'failed', text: reason }, call))
    case 'search':
      return checked('search', input, ({ query }) => searchAll(query, call))
    case 'record_note':
      return checked('record_note', input, given => keepNote(given, call))
    case 'ask_human':
      return refused('it is asked another way')
    default:
      return unreachable(name)
  }
}

type Input<Name extends AgentToolName> = NonNullable<ReturnType<typeof toolInput<Name>>['data']>

async function checked<Name extends AgentToolName>(
  name: Name,
  input: unknown,
  work: (input: Input<Name>) => Promise<ToolReply>,
): Promise<ToolReply> {
  const parsed = toolInput(name, input)
  if (parsed.success) return work(parsed.data as Input<Name>)
  const [issue] = parsed.error.issues
  return refused(`${issue?.path.join('.') || name}: ${issue?.message ?? 'not valid'}`)
}

function refused(why: string): ToolReply {
  return { ok: false, text: `Not done: ${why}.`.replace(/\.\.$/, '.') }
}
