import * as z from 'zod'
import { MEASURES } from './budget.ts'
import { OVER_STATES, TaskState, TaskView } from './task.ts'

/**
 * Cleans text from people and files. Terminal escape sequences and invalid characters are removed. Of control characters,
 * only line breaks and tabs are kept.
 */
export function cleanText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .toWellFormed()
    .replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g, '')
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
}

/** Cleans text and joins it into one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim()
}

export const MAX_TITLE = 200

/** Room for an import of twenty thousand tasks with a page of text each. */
export const MAX_IMPORT_BYTES = 64_000_000

const Line = (most: number) => z.string().transform(cleanLine).pipe(z.string().min(1).max(most))
const Name = z
  .string()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}._/-]{0,99}$/u, 'letters, digits, ".", "_", "/" and "-", at most 100 of them')
const Word = z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, 'small letters, digits and "-", at most 31 of them')
const Label = z
  .string()
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N}._:/-]{0,49}$/u,
    'one word of letters, digits, ".", "_", ":", "/" and "-", at most 50 of them',
  )

/** The spending limits of a task. */
const TaskBudget = z
  .strictObject(Object.fromEntries(MEASURES.map(measure => [measure, z.number().positive().optional()])))
  .refine(limits => Object.keys(limits).length > 0, 'it names no amount')

/** A path or pattern inside the project, as people write it: `./src/api`, `./docs/*.md`. */
const DeclaredPath = Line(300)
  .transform(path => path.replace(/^(\.\/)+/, '').replace(/\/+$/, ''))
  .refine(
    path => path !== '' && !path.startsWith('/') && !path.split('/').some(part => part === '..' || part === ''),
    'a path from the project, as in src/api or docs/*.md',
  )

/** The fields of a task that a person can set. */
const Fields = {
  title: Line(MAX_TITLE),
  description: z.string().max(1_000_000).transform(cleanText),
  priority: z.number().int().min(-1_000_000).max(1_000_000),
  feature: Name,
  type: Word,
  labels: z.array(Label).max(50),
  acceptance: z.array(Line(2_000)).max(200),
  paths: z.array(DeclaredPath).max(200),
  max_retries: z.number().int().min(0).max(100),
  model: Line(200),
  budget: TaskBudget,
}

const Ref = z.string().min(1).max(200)
const optional = Object.fromEntries(Object.entries(Fields).map(([name, field]) => [name, field.optional()])) as {
  [Name in keyof typeof Fields]: z.ZodOptional<(typeof Fields)[Name]>
}

/** POST /tasks */
export const SubmitTask = z.strictObject({
  ...optional,
  title: Fields.title,
  project: z.string().min(1),
  /** Ids, or unique beginnings of ids. */
  after: z.array(Ref).max(1_000).optional(),
  parent: Ref.optional(),
})
export type SubmitTask = z.infer<typeof SubmitTask>

/** POST /tasks/:ref. A null removes the value. */
export const UpdateTask = z.strictObject({
  ...optional,
  feature: Fields.feature.nullish(),
  model: Fields.model.nullish(),
  budget: Fields.budget.nullish(),
  max_retries: Fields.max_retries.nullish(),
  parent: Ref.nullish(),
})
export type UpdateTask = z.infer<typeof UpdateTask>

/** One task of a file. `id` and `after` are names within the file, or ids of existing tasks. */
export const ImportedTask = z.strictObject({
  ...optional,
  title: Fields.title,
  id: Ref.optional(),
  /** The name that it had in the file from which it was imported first. */
  alias: Name.optional(),
  after: z.array(Ref).max(10_000).optional(),
  parent: Ref.optional(),
  state: z.enum(['open', ...OVER_STATES]).optional(),
  /** Its line in the file, for messages. */
  line: z.number().int().optional(),
  /** The column there of what it comes after, or of its title. */
  column: z.number().int().optional(),
})
export type ImportedTask = z.infer<typeof ImportedTask>

/** A larger import would keep all other writers waiting for seconds. */
export const MAX_IMPORTED = 20_000

/** POST /tasks/import */
export const ImportTasks = z.strictObject({
  project: z.string().min(1),
  tasks: z.array(ImportedTask).max(MAX_IMPORTED),
  /** Replaces ids that are in use with new ones. */
  copy: z.boolean().optional(),
  /** Tasks that are there already, by id, name in the file or title, are updated while they are open; others are left as they are. */
  update: z.boolean().optional(),
  /** Checks everything and stores nothing. */
  dry_run: z.boolean().optional(),
  /** The name of their file, which errors say. */
  file: z.string().max(4_096).optional(),
})
export type ImportTasks = z.infer<typeof ImportTasks>

/** A reference to another task. */
export const TaskMention = z.object({
  id: z.string(),
  title: z.string(),
  state: TaskState,
})
export type TaskMention = z.infer<typeof TaskMention>

/** The answer of POST /tasks/import. */
export const ImportReply = z.object({
  /** The new tasks. */
  tasks: z.array(TaskMention),
  updated: z.array(TaskMention),
  /** How many were there already, just as the file says. */
  same: z.number(),
  /** Tasks that are over: they stay as they are. */
  over: z.array(TaskMention),
  /** Those of `updated` that were found by their title alone. */
  by_title: z.array(TaskMention),
})
export type ImportReply = z.infer<typeof ImportReply>

/** POST /tasks/:ref/done, /fail, /reset, /cancel */
export const SayOfTask = z.strictObject({ reason: Line(1_000).optional() })

/** POST /tasks/:ref/log */
export const NoteOnTask = z.strictObject({
  text: z.string().max(100_000).transform(cleanText).pipe(z.string().trim().min(1)),
})

/** GET /tasks */
export const TaskQuery = z.strictObject({
  project: z.string().min(1).optional(),
  feature: z.string().min(1).optional(),
  state: z.string().optional(),
  ready: z.enum(['true']).optional(),
  label: z.string().min(1).optional(),
  text: z.string().min(1).optional(),
  session: z.string().min(1).optional(),
  under: Ref.optional(),
  limit: z.coerce.number().int().min(1).max(1_000_000).optional(),
})
export type TaskQuery = z.infer<typeof TaskQuery>

/** GET /tasks/:ref */
export const TaskDetail = z.object({
  task: TaskView,
  parent: TaskMention.nullable(),
  blockers: z.array(TaskMention),
  dependents: z.array(TaskMention),
  parts: z.array(TaskMention),
})
export type TaskDetail = z.infer<typeof TaskDetail>

/** The words for `--state`; `open` means every state that is not over. */
export const STATE_WORDS = ['open', ...TaskState.options] as const
