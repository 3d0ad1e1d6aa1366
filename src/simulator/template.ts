import { type Dialogue, firstPrompt } from './wire/dialogue.ts'

/** Puts what the request tells into `{{cwd}}`, `{{prompt}}`, `{{first_prompt}}`, `{{last_tool_result}}`, `{{model}}`. Other braces stay. */
export function fillTemplate<Value>(value: Value, dialogue: Dialogue): Value {
  const names = new Map<string, () => string>(
    Object.entries({
      cwd: () => dialogue.cwd,
      model: () => dialogue.model,
      first_prompt: () => firstPrompt(dialogue),
      prompt: () => latest(dialogue, 'prompt'),
      last_tool_result: () => latest(dialogue, 'tool_result'),
    }),
  )
  return fill(value, names) as Value
}

function fill(value: unknown, names: Map<string, () => string>): unknown {
  if (typeof value === 'string')
    return value.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => names.get(name)?.() ?? whole)
  if (Array.isArray(value)) return value.map(one => fill(one, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one, names)]))
}

function latest(dialogue: Dialogue, kind: 'prompt' | 'tool_result'): string {
  return dialogue.entries.findLast(entry => entry.kind === kind)?.text ?? ''
}
