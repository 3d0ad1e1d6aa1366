import type { Condition, Match } from './scenario/condition-schema.ts'
import type { Dialogue, Entry } from './wire/dialogue.ts'

/** Whether a prompt is the one that a `match` means; no `match` means every prompt. */
export function matches(match: Match | undefined, prompt: string, dialogue: Dialogue): boolean {
  if (!match) return true
  if (match.contains !== undefined && !prompt.includes(match.contains)) return false
  if (match.regex !== undefined && !new RegExp(match.regex).test(prompt)) return false
  if (match.system_contains !== undefined && !dialogue.system.includes(match.system_contains)) return false
  return match.model === undefined || dialogue.model.includes(match.model)
}

/** The keys of a condition that do not hold for a dialogue that has come as far as `entries`. */
export function unmet(condition: Condition, dialogue: Dialogue, entries: readonly Entry[]): string[] {
  const prompt = entries.findLast(entry => entry.kind === 'prompt')?.text ?? ''
  const fresh = entries.slice(entries.findLastIndex(entry => entry.kind === 'reply') + 1)
  const results = fresh.filter(entry => entry.kind === 'tool_result')
  const result = results.map(entry => entry.text).join('\n')
  const notes = [dialogue.system, ...entries.filter(entry => entry.kind === 'note').map(entry => entry.text)].join('\n')
  const checks: Record<keyof Condition, () => boolean> = {
    prompt_contains: () => prompt.includes(condition.prompt_contains ?? ''),
    prompt_regex: () => new RegExp(condition.prompt_regex ?? '').test(prompt),
    tool_result_contains: () => results.length > 0 && result.includes(condition.tool_result_contains ?? ''),
    tool_result_regex: () => results.length > 0 && new RegExp(condition.tool_result_regex ?? '').test(result),
    tool_failed: () => results.length > 0 && results.some(entry => entry.failed) === condition.tool_failed,
    note_contains: () => notes.includes(condition.note_contains ?? ''),
    system_contains: () => dialogue.system.includes(condition.system_contains ?? ''),
    offers_tool: () => dialogue.tools.includes(condition.offers_tool ?? ''),
    history_contains: () => entries.some(entry => entry.text.includes(condition.history_contains ?? '')),
    not: () => unmet(condition.not ?? {}, dialogue, entries).length > 0,
  }
  const given = Object.keys(condition) as (keyof Condition)[]
  return given.filter(key => condition[key] !== undefined && !checks[key]())
}
