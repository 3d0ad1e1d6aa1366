import * as z from 'zod'
import { type Failure, type PlanItem, Question, type SessionEvent } from '../../domain/session.ts'
import { capOutput } from '../session-output.ts'
import {
  type Assistant,
  type Block,
  type RateLimit,
  type Result,
  SYNTHETIC,
  type System,
  toMilliseconds,
  type User,
} from './messages.ts'
import { apiFailure } from './outcome.ts'
import { ClaudeSpending } from './spending.ts'

interface Call {
  tool: string
  input: Record<string, unknown>
}

/** Calls are remembered until their result comes; an interrupted call may never get one. */
const OPEN_CALLS = 1000

/** Translates the vendor's messages into events, one at a time and without any effect. `ClaudeConversation` handles turns and their ends. */
export class ClaudeTranslator {
  readonly #plan = new ClaudePlan()
  readonly #spending: ClaudeSpending
  readonly #calls = new Map<string, Call>()
  #compacting = false

  constructor({ resumed }: { resumed: boolean }) {
    this.#spending = new ClaudeSpending({ resumed })
  }

  /** Sets what the conversation had spent before this session. */
  setPast(past: Parameters<ClaudeSpending['setPast']>[0]): void {
    this.#spending.setPast(past)
  }

  /** Takes the total cost of the conversation, as the vendor reports it within a turn. */
  cost(totalUsd: number): SessionEvent[] {
    const usage = this.#spending.onCost(totalUsd)
    return usage ? [usage] : []
  }

  /** Rounds with the model in the turn that ends now. */
  endTurn(): number {
    return this.#spending.endTurn()
  }

  assistant(message: Assistant): SessionEvent[] {
    // This message reports an API error: the end of the turn will report it.
    if (message.message.model === SYNTHETIC) return []
    const by = agentOf(message)
    const usage = this.#spending.onAnswer(message)
    return [...message.message.content.flatMap(block => this.#readBlock(block, by)), ...(usage ? [usage] : [])]
  }

  user(message: User): SessionEvent[] {
    const { content } = message.message
    if (typeof content === 'string') return []
    return content.filter(isToolResult).flatMap(block => this.#result(block, message))
  }

  result(message: Result): SessionEvent[] {
    const usage = this.#spending.onResult(message)
    return usage ? [usage] : []
  }

  system(message: System): SessionEvent[] {
    switch (message.subtype) {
      case 'api_retry':
        return [retryOf(message)]
      case 'status':
        if (message.status === 'compacting') return this.#compacted('started')
        return message.compact_result === undefined ? [] : this.#compacted('ended')
      case 'compact_boundary':
        return this.#compacted('ended')
      default:
        return []
    }
  }

  limit({ rate_limit_info: info }: RateLimit): SessionEvent[] {
    const { status, rateLimitType, resetsAt, utilization, unifiedWindows } = info
    return [
      {
        kind: 'limit',
        status: status === 'allowed_warning' ? 'warning' : status,
        ...(rateLimitType !== undefined && { window: rateLimitType }),
        ...(resetsAt !== undefined && { resetsAt: toMilliseconds(resetsAt) }),
        ...(utilization !== undefined && { utilization }),
        ...(unifiedWindows && { windows: windowsOf(unifiedWindows) }),
      },
    ]
  }

  /** A call appears in the agent's stream and in its permission request, in either order: the first one counts. */
  call(callId: string, call: Call, by: { agentId?: string }): SessionEvent[] {
    if (this.#calls.has(callId)) return []
    this.#calls.set(callId, call)
    if (this.#calls.size > OPEN_CALLS) this.#calls.delete([...this.#calls.keys()][0] ?? '')
    const question = call.tool === 'AskUserQuestion' ? Question.safeParse({ callId, ...call.input }).data : undefined
    if (question) return [{ kind: 'question', callId, questions: question.questions, ...by }]
    return [{ kind: 'tool_request', callId, ...call, ...by }]
  }

  #readBlock(block: Block, by: { agentId?: string }): SessionEvent[] {
    if (block.type === 'text' && block.text) return [{ kind: 'text', text: block.text, ...by }]
    if (block.type === 'thinking' && block.thinking) return [{ kind: 'thinking', text: block.thinking, ...by }]
    if (block.type !== 'tool_use' || !block.id || !block.name) return []
    return this.call(block.id, { tool: toolName(block.name), input: block.input ?? {} }, by)
  }

  #result(block: Block & { tool_use_id: string }, message: User): SessionEvent[] {
    const by = agentOf(message)
    const callId = block.tool_use_id
    const ok = block.is_error !== true
    const call = this.#calls.get(callId)
    const isMainCall = ok && call && by.agentId === undefined
    const items = isMainCall ? this.#plan.after({ ...call, output: message.tool_use_result }) : undefined
    return [
      { kind: 'tool_result', callId, ok, output: capOutput(textOf(block.content)), ...by },
      ...(items ? [{ kind: 'plan' as const, items }] : []),
    ]
  }

  #compacted(state: 'started' | 'ended'): SessionEvent[] {
    const isCompacting = state === 'started'
    if (this.#compacting === isCompacting) return []
    this.#compacting = isCompacting
    return [{ kind: 'compacting', state }]
  }
}

/** The tool that starts a subagent is offered under an old name and called by its new one. */
export function toolName(name: string): string {
  return name === 'Task' ? 'Agent' : name
}

function agentOf(message: Assistant | User): { agentId?: string } {
  const agentId = message.agent_id ?? message.parent_tool_use_id ?? undefined
  return agentId === undefined ? {} : { agentId }
}

function isToolResult(block: Block): block is Block & { tool_use_id: string } {
  return block.type === 'tool_result' && block.tool_use_id !== undefined
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(part => (part?.type === 'text' ? String(part.text) : `[${String(part?.type)}]`)).join('\n')
}

function retryOf(message: Extract<System, { subtype: 'api_retry' }>): SessionEvent {
  const { attempt, max_retries: maxRetries, retry_delay_ms: delayMs, error, error_status: status } = message
  return { kind: 'retry', attempt, maxRetries, delayMs, failure: withLimit(apiFailure({ error, status })) }
}

/** The agent itself retries a request that is refused for now; nobody says when. */
function withLimit(failure: Failure): Failure {
  if (failure.kind !== 'limit') return failure
  return { ...failure, limit: { source: 'retry', message: failure.message } }
}

function windowsOf(windows: NonNullable<RateLimit['rate_limit_info']['unifiedWindows']>) {
  return Object.fromEntries(
    Object.entries(windows).map(([name, { utilization, resetsAt, status }]) => [
      name,
      {
        ...(utilization !== undefined && { utilization }),
        ...(resetsAt !== undefined && { resetsAt: toMilliseconds(resetsAt) }),
        ...(status !== undefined && { status }),
      },
    ]),
  )
}

const State = z.enum(['pending', 'in_progress', 'completed'])
const Todos = z.object({ todos: z.array(z.object({ content: z.string(), status: State })) })
const Created = z.object({ task: z.object({ id: z.string(), subject: z.string() }) })
const Changed = z.object({
  taskId: z.string(),
  subject: z.string().optional(),
  status: z.union([State, z.literal('deleted')]).optional(),
})
const Listed = z.object({ tasks: z.array(z.object({ id: z.string(), subject: z.string(), status: State })) })

type State = z.infer<typeof State>
const PLAN_STATES: Record<State, PlanItem['state']> = { pending: 'pending', in_progress: 'active', completed: 'done' }

/** A call of the main agent that returned without an error. */
export interface DoneCall {
  tool: string
  input: Record<string, unknown>
  output: unknown
}

/**
 * The agent's list of steps. Claude Code has two kinds of tools for it: `TodoWrite` gives the whole list each time, the
 * `Task…` tools change one step at a time. Both are read, because the version decides which it offers.
 */
class ClaudePlan {
  readonly #steps = new Map<string, { text: string; state: State }>()

  /** The list after the call, when the call was about the list. */
  after({ tool, input, output }: DoneCall): PlanItem[] | undefined {
    if (tool === 'TodoWrite') return this.#replace(Todos.safeParse(input).data?.todos.map(todoStep))
    if (tool === 'TaskList') return this.#replace(Listed.safeParse(output).data?.tasks.map(taskStep))
    if (tool === 'TaskCreate') return this.#create(Created.safeParse(output).data)
    if (tool === 'TaskUpdate') return this.#change(Changed.safeParse(input).data)
    return undefined
  }

  #replace(steps: [string, { text: string; state: State }][] | undefined): PlanItem[] | undefined {
    if (!steps) return undefined
    this.#steps.clear()
    for (const [id, step] of steps) this.#steps.set(id, step)
    return this.#items()
  }

  #create(created: z.infer<typeof Created> | undefined): PlanItem[] | undefined {
    if (!created) return undefined
    this.#steps.set(created.task.id, { text: created.task.subject, state: 'pending' })
    return this.#items()
  }

  #change(change: z.infer<typeof Changed> | undefined): PlanItem[] | undefined {
    if (!change) return undefined
    const { taskId, subject, status } = change
    if (status === 'deleted') this.#steps.delete(taskId)
    else {
      // The step was created before this process: its subject is unknown until the agent lists the steps.
      const step = this.#steps.get(taskId) ?? { text: `step ${taskId}`, state: 'pending' as const }
      this.#steps.set(taskId, { text: subject ?? step.text, state: status ?? step.state })
    }
    return this.#items()
  }

  #items(): PlanItem[] {
    return [...this.#steps.values()].map(({ text, state }) => ({ text, state: PLAN_STATES[state] }))
  }
}

function todoStep({ content, status }: z.infer<typeof Todos>['todos'][number], at: number) {
  return [String(at), { text: content, state: status }] as [string, { text: string; state: State }]
}

function taskStep({ id, subject, status }: z.infer<typeof Listed>['tasks'][number]) {
  return [id, { text: subject, state: status }] as [string, { text: string; state: State }]
}
