import type { WireName } from '../wire/wire.ts'
import type { ToolCall } from './tool-call-schema.ts'
import type { ToolNames } from './tool-names-schema.ts'

interface Known {
  names: ToolNames | undefined
  wire: WireName
  /** The tools that the agent offers. */
  offered: readonly string[]
}

/** The tool calls of a turn as the agent on this wire knows them: under its own names, where the scenario gives them. */
export function toolsFor(tools: ToolCall[] | undefined, { names, wire, offered }: Known): ToolCall[] | undefined {
  return tools?.map(call => {
    const known = names?.[call.name]?.[wire]
    if (!known) return { ...call, name: nameAmong(offered, call.name) }
    return {
      name: nameAmong(offered, known.name),
      input: known.input ? (filled(known.input, call.input) as ToolCall['input']) : call.input,
    }
  })
}

/** What a name with `*` means: the first tool on offer that fits. One that nobody offers is called as it is written. */
function nameAmong(offered: readonly string[], name: string): string {
  if (!name.includes('*')) return name
  const form = new RegExp(`^${name.replaceAll('*', '.*')}$`)
  return offered.find(one => form.test(one)) ?? name.replaceAll('*', '')
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
