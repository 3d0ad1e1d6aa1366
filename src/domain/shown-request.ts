/** The tool and the input of a request. */
interface RequestedCall {
  tool: string
  target: string
  input: Record<string, unknown>
}

/**
 * Everything that a request would do, as text. Of a shell call that is its command; the agent's own words about it and its time
 * limit do nothing. Of any other tool it is every field.
 */
export function describeInput({ tool, target, input }: RequestedCall): string {
  const { command, description: _words, timeout: _limit, ...others } = input
  if (tool === 'Bash' && typeof command === 'string') return [command, ...listFields(others)].join('\n')
  return listFields(input).join('\n') || target
}

/** The fields of an input, one after the other. */
export function listFields(input: Record<string, unknown>): string[] {
  return Object.entries(input).map(([name, value]) => {
    return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
  })
}

const LONGEST_TEXT = 4_000
const LONGEST_INPUT = 64_000

/** The input as a stored decision keeps it: whole, or with its long texts cut; if it is still too long, only the names of its fields. */
export function truncateInput(input: Record<string, unknown>): Record<string, unknown> {
  if (JSON.stringify(input).length <= LONGEST_INPUT) return input
  const kept = Object.fromEntries(Object.entries(input).map(([name, value]) => [name, cutText(value)]))
  if (JSON.stringify(kept).length <= LONGEST_INPUT) return kept
  const left_out = Object.keys(input).slice(0, 50)
  return { left_out: left_out.map(cutText) }
}

/** Whether a stored decision holds less than what was asked for, so that nobody who reads it has seen all of it. */
export function isCutInput(input: Record<string, unknown>): boolean {
  return Array.isArray(input['left_out']) || CUT.test(JSON.stringify(input))
}

/** The command that shows the diff of a review: its decision does not hold what is approved. Undefined for other decisions. */
export function reviewCommand({ kind, input }: { kind: string; input: Record<string, unknown> }): string | undefined {
  return kind === 'review' ? `pcc review ${input['task'] ?? ''}`.trim() : undefined
}

/** The ends of texts that were cut, here or for the log. */
const CUT = /… \((\d+|cut: \d+ more) characters\)"/

function cutText(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= LONGEST_TEXT) return value
  return `${value.slice(0, LONGEST_TEXT).toWellFormed()}… (${value.length} characters)`
}
