import * as z from 'zod'
import type { PlanItem } from '../../../domain/session.ts'

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
const SHOWN: Record<State, PlanItem['state']> = { pending: 'pending', in_progress: 'active', completed: 'done' }

/** A call of the main agent that came back without an error. */
export interface DoneCall {
  tool: string
  input: Record<string, unknown>
  output: unknown
}

/**
 * The agent's list of steps. Claude Code has two kinds of tools for it: `TodoWrite` gives the whole list each time, the
 * `Task…` tools change one step at a time. Both are read, whichever this version offers.
 */
export class Plan {
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
      // A step made before this process: its subject is not known here until the agent lists them.
      const step = this.#steps.get(taskId) ?? { text: `step ${taskId}`, state: 'pending' as const }
      this.#steps.set(taskId, { text: subject ?? step.text, state: status ?? step.state })
    }
    return this.#items()
  }

  #items(): PlanItem[] {
    return [...this.#steps.values()].map(({ text, state }) => ({ text, state: SHOWN[state] }))
  }
}

function todoStep({ content, status }: z.infer<typeof Todos>['todos'][number], at: number) {
  return [String(at), { text: content, state: status }] as [string, { text: string; state: State }]
}

function taskStep({ id, subject, status }: z.infer<typeof Listed>['tasks'][number]) {
  return [id, { text: subject, state: status }] as [string, { text: string; state: State }]
}
