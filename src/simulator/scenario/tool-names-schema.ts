import * as z from 'zod'

/** What a tool is called on one wire, and what it takes there: `{{input.key}}` stands for the scenario's own input. */
const Known = z.preprocess(
  given => (typeof given === 'string' ? { name: given } : given),
  z.strictObject({ name: z.string().min(1).max(128), input: z.record(z.string(), z.unknown()).optional() }),
)

/** A scenario's tools by the names of other agents; what is not named here is called as the scenario calls it. */
export const ToolNames = z.record(
  z.string(),
  z.strictObject({ anthropic: Known.optional(), gemini: Known.optional(), responses: Known.optional() }),
)
export type ToolNames = z.infer<typeof ToolNames>
