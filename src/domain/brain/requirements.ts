import * as z from 'zod'

/** A person wrote it by hand: far more than that is something else. */
export const MAX_REQUIRED_TASKS = 1_000

export const RequiredTask = z.object({
  id: z.string().optional(),
  /** What is to be done, with whatever stands under it. */
  text: z.string(),
  done: z.boolean(),
  /** Higher is sooner. */
  priority: z.number(),
  /** Ids of other tasks of the file. */
  depends_on: z.array(z.string()),
  /** Of the file, for messages. */
  line: z.number(),
})
export type RequiredTask = z.infer<typeof RequiredTask>

/** `key` is empty where a sentence stands among the preferences. */
export const Preference = z.object({ key: z.string(), value: z.string() })
export type Preference = z.infer<typeof Preference>

/** What a person wrote down about a project: what is to be done, what they prefer, what must hold. */
export const Requirements = z.object({
  title: z.string().optional(),
  overview: z.string().optional(),
  tasks: z.array(RequiredTask).max(MAX_REQUIRED_TASKS),
  preferences: z.array(Preference).max(1_000),
  constraints: z.array(z.string()).max(1_000),
})
export type Requirements = z.infer<typeof Requirements>
