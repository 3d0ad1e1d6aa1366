import * as z from 'zod'
import { cleanLine, cleanText } from './task-requests.ts'

const line = (most: number) =>
  z
    .string()
    .max(most * 8)
    .transform(cleanLine)
    .pipe(z.string().min(1).max(most))
const text = (most: number) => z.string().max(most).transform(cleanText).pipe(z.string().trim().min(1))
const ref = z.string().trim().min(1).max(200)

/** The input of a tool, field by field, and its description for the agent. */
interface AgentTool {
  description: string
  shape: z.ZodRawShape
}

/** The tools that agents get. Their input is validated like any other. */
export const AGENT_TOOLS = {
  add_task: {
    description:
      'Adds a task to the plan that you work in. Returns its id. Say what is to be done and when it is done; name the tasks it comes after by their ids or titles.',
    shape: {
      title: line(200).describe('One line.'),
      description: text(50_000).optional().describe('All that whoever does it needs to know.'),
      acceptance: z
        .array(line(2_000))
        .max(50)
        .optional()
        .describe('What must hold when it is done, one criterion each.'),
      after: z.array(ref).max(100).optional().describe('Ids, or titles, of the tasks that must be done before it.'),
      priority: z.number().int().min(-1_000).max(1_000).optional().describe('Higher is sooner; 0 when left out.'),
    },
  },
  add_dependency: {
    description: 'Makes a task that has not begun come after another one.',
    shape: {
      task: ref.describe('Id, or title, of the task that waits.'),
      after: ref.describe('Id, or title, of the task that must be done before.'),
    },
  },
  log: {
    description: 'Adds a line to the log of your own task: something that whoever looks at it later should know.',
    shape: { text: text(10_000) },
  },
  done: {
    description:
      'Says that your own task is done. It is a request to verify it, so check first. End your turn with your report afterwards.',
    shape: { summary: text(10_000).optional() },
  },
  failed: {
    description: 'Says that your own task cannot be done, and why. End your turn with your report afterwards.',
    shape: { reason: text(2_000) },
  },
  ask_human: {
    description:
      'Asks a person, and waits for the answer however long it takes. Only where a wrong guess would be costly, or where asking is your task.',
    shape: {
      question: text(5_000),
      options: z
        .array(line(300))
        .max(9)
        .optional()
        .describe('Answers to choose from; another one can be given all the same.'),
    },
  },
  record_note: {
    description:
      'Keeps something that others who work on this project should know: a pitfall, a convention, a decision. Not what the code says itself.',
    shape: {
      title: line(200),
      tags: z.array(line(50)).min(1).max(20),
      body: text(4_000).describe('At most 500 words.'),
    },
  },
  search: {
    description: 'Looks in the tasks of this project, its notes and the journal of earlier work.',
    shape: { query: line(300) },
  },
} as const satisfies Record<string, AgentTool>

export type AgentToolName = keyof typeof AGENT_TOOLS

export const AGENT_TOOL_NAMES = Object.keys(AGENT_TOOLS) as [AgentToolName, ...AgentToolName[]]

export const AgentToolName = z.enum(AGENT_TOOL_NAMES)

/** The reply of a tool to the agent. `ok: false`: nothing was done, and `text` says why and what to do instead. */
export interface ToolReply {
  ok: boolean
  text: string
}

/** Parses the input of a tool. */
export function toolInput<Name extends AgentToolName>(name: Name, input: unknown) {
  const shape = AGENT_TOOLS[name].shape as (typeof AGENT_TOOLS)[Name]['shape']
  return z.strictObject(shape).safeParse(input)
}
