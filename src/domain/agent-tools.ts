import * as z from 'zod'
import { FACT_CATEGORIES } from './memory.ts'
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
  search_code: {
    description:
      'Finds the code of this project that a question or some words are about, the best file first, with line numbers. Ask in plain words or by names. Faster than reading many files; use grep for an exact text.',
    shape: {
      query: text(5_000).describe('A question, an error message, or names.'),
      top: z.number().int().min(1).max(20).optional().describe('How many results; 5 when left out.'),
      path: line(500).optional().describe('Only below this folder, or files that match this pattern with *.'),
      symbol: z
        .boolean()
        .optional()
        .describe('The query is the name of a function, class or type: show its definitions.'),
    },
  },
  related: {
    description:
      'Shows what is connected with a file or a definition of this project: what it imports, calls and inherits, who uses it, and what was changed together with it. May miss calls that are made dynamically.',
    shape: {
      entity: line(500).describe('A path of the project, or a name such as saveOrder or Store.save.'),
      depth: z.number().int().min(1).max(3).optional().describe('How many steps away; 1 when left out.'),
    },
  },
  file_context: {
    description:
      'Shows the imports and exports of a file of this project, and who imports and calls it, without reading it.',
    shape: { path: line(500).describe('Relative to the project.') },
  },
  recall: {
    description:
      'Shows what earlier work on this project has taught about a question, each with its source: commands that fail here and what works, facts, decisions, what did not work.',
    shape: { query: text(5_000).describe('A question, an error message, or what you are about to do.') },
  },
  remember: {
    description:
      'Keeps something for later work on this project: a fact, or what does not work and what to do instead. It is your word: it grants nothing and decides nothing. Not what the code says itself.',
    shape: {
      text: text(4_000).describe('One thing, in a sentence or two.'),
      about: line(200).describe('What it is about, in a few words; a later fact about the same replaces it.'),
      kind: z
        .enum(['fact', 'anti_pattern'])
        .optional()
        .describe('What holds, or what does not work; a fact when left out.'),
      instead: text(4_000).optional().describe('What works instead of it.'),
      category: z.enum(FACT_CATEGORIES).optional().describe('Of a fact; a convention when left out.'),
      files: z
        .array(line(500))
        .max(20)
        .optional()
        .describe(
          'Files that a fact speaks of, besides those that its text names: it counts until one of them changes.',
        ),
      for: z
        .enum(['project', 'session', 'me'])
        .optional()
        .describe('Who sees it: later work on this project, this session only, or agents of your kind here.'),
    },
  },
  forget: {
    description: 'Forgets for good what you told with remember in this session.',
    shape: { id: ref.describe('As remember or recall gave it.') },
  },
  memory_report: {
    description: 'Shows how much is known here, and what you have told.',
    shape: {},
  },
} as const satisfies Record<string, AgentTool>

export type AgentToolName = keyof typeof AGENT_TOOLS

/** The tools that need an index of the code. */
export const CODE_TOOLS: readonly AgentToolName[] = ['search_code', 'related', 'file_context']

/** The tools that need memory. */
export const MEMORY_TOOLS: readonly AgentToolName[] = ['recall', 'remember', 'forget', 'memory_report']

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
