import type { WireName } from '../wire/wire.ts'
import type { ToolCall } from './tool-call-schema.ts'
import type { ToolNames } from './tool-names-schema.ts'

/** The tool calls of a turn as the agent on this wire knows them: under its own names, where the scenario gives them. */
export function toolsFor(
  tools: ToolCall[] | undefined,
  names: ToolNames | undefined,
  wire: WireName,
): ToolCall[] | undefined {
  return tools?.map(call => {
    const known = names?.[call.name]?.[wire]
    if (!known) return call
    return {
      name: known.name,
      input: known.input ? (filled(known.input, call.input) as ToolCall['input']) : call.input,
    }
  })
}

const WHOLE = /^\{\{input\.(\w+)\}\}$/
const PART = /\{\{input\.(\w+)\}\}/g

/** `{{input.command}}` is what the call's own input has there; alone it keeps its type. */
function filled(form: unknown, input: Record<string, unknown>): unknown {
  if (typeof form === 'string') {
    const whole = WHOLE.exec(form)
    if (whole) return input[whole[1] ?? '']
    return form.replace(PART, (_, key: string) => String(input[key] ?? ''))
  }
  if (Array.isArray(form)) return form.map(one => filled(one, input))
  if (typeof form !== 'object' || form === null) return form
  return Object.fromEntries(Object.entries(form).map(([key, one]) => [key, filled(one, input)]))
}
