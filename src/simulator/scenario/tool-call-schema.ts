import * as z from 'zod'

/** A `*` stands for whatever is there in the name of a tool that the agent offers. */
const NAME = /^[A-Za-z0-9_*-]{1,128}$/

/** One tool call, written `Read: { file_path: … }` or `{ name: Read, input: { … } }`. */
export interface ToolCall {
  name: string
  input: Record<string, unknown>
}
export const ToolCall = z.unknown().transform((given, ctx): ToolCall => {
  const refuse = (message: string) => {
    ctx.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (!isRecord(given)) return refuse('is not a tool call: write Read: { file_path: … }')
  const named = 'name' in given && Object.keys(given).every(key => key === 'name' || key === 'input')
  const [name, input] = named ? [given['name'], given['input'] ?? {}] : (Object.entries(given)[0] ?? [])
  if (!named && Object.keys(given).length !== 1) {
    return refuse(`holds ${Object.keys(given).length} keys: one tool call has one name; start another with "-"`)
  }
  if (typeof name !== 'string' || !NAME.test(name)) return refuse(`"${String(name)}" is not a tool name`)
  if (!isRecord(input ?? {})) return refuse(`the input of ${name} is not a map of keys and values`)
  return { name, input: (input ?? {}) as Record<string, unknown> }
})

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
