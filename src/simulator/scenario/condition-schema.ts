import * as z from 'zod'

const Pattern = z.string().superRefine((source, ctx) => {
  try {
    new RegExp(source)
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: `is not a regular expression: ${(error as Error).message}` })
  }
})

/** Which conversation is meant: every key given must hold. A bare string means `contains`. */
export const Match = z.preprocess(
  given => (typeof given === 'string' ? { contains: given } : given),
  z.strictObject({
    contains: z.string().min(1).optional(),
    regex: Pattern.optional(),
    system_contains: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
  }),
)
export type Match = z.infer<typeof Match>

/** What must hold in the request for a turn to be taken; every key given must hold. Also the shape of `expect`. */
export interface Condition {
  prompt_contains?: string | undefined
  prompt_regex?: string | undefined
  tool_result_contains?: string | undefined
  tool_result_regex?: string | undefined
  tool_failed?: boolean | undefined
  note_contains?: string | undefined
  system_contains?: string | undefined
  offers_tool?: string | undefined
  history_contains?: string | undefined
  not?: Condition | undefined
}
export const Condition: z.ZodType<Condition> = z.strictObject({
  prompt_contains: z.string().min(1).optional(),
  prompt_regex: Pattern.optional(),
  tool_result_contains: z.string().min(1).optional(),
  tool_result_regex: Pattern.optional(),
  tool_failed: z.boolean().optional(),
  note_contains: z.string().min(1).optional(),
  system_contains: z.string().min(1).optional(),
  offers_tool: z.string().min(1).optional(),
  history_contains: z.string().min(1).optional(),
  get not() {
    return Condition.optional()
  },
})
