import { shellWord } from '../../../base/shell-word.ts'
import type { Source, ToolNaming } from '../../../domain/agents/manifest.ts'
import type { ToolCall } from '../wire/schemas.ts'

/** A call in our own words: a tool that the policy knows, and its input. */
export interface Named {
  tool: string
  input: Record<string, unknown>
}

/**
 * What a call of the agent's is in our own words. One call may touch several files: then it is several, and each must be
 * allowed. What nobody can tell is named so that it is judged as the worst it could be: something that executes.
 */
export function namedCalls(call: ToolCall, naming: ToolNaming): Named[] {
  const name = nameOf(call, naming)
  const input = inputOf(call)
  if (naming.nameIn === 'native' && name !== undefined) return [{ tool: name, input }]
  const known = name !== undefined && Object.hasOwn(naming.known, name) ? naming.known[name] : undefined
  if (known) {
    const fields = Object.entries(known.input).map(([key, sources]) => [key, firstOf(call, sources)] as const)
    const lacks = fields.some(([key, value]) => value === undefined && JUDGED.includes(key))
    return [lacks ? worst(call, name) : { tool: known.tool, input: Object.fromEntries(fields.filter(isGiven)) }]
  }
  return byKind(call, name)
}

/** Without these nobody can say what a call does. */
const JUDGED = ['command', 'file_path', 'url']

function isGiven([, value]: readonly [string, unknown]): boolean {
  return value !== undefined
}

/** The agent's own name of a tool, where it says one. */
export function nameOf(call: ToolCall, { nameIn }: ToolNaming): string | undefined {
  if (nameIn === 'native' || nameIn === 'name') return call.name ?? undefined
  if (nameIn === 'title') return call.title ?? undefined
  return /^([A-Za-z0-9_]+?)(?:__|-)\w/.exec(call.toolCallId)?.[1]
}

function byKind(call: ToolCall, name: string | undefined): Named[] {
  const input = inputOf(call)
  const paths = pathsOf(call)
  switch (call.kind) {
    case 'execute':
      return typeof input['command'] === 'string'
        ? [{ tool: 'Bash', input: { command: input['command'] } }]
        : [worst(call, name)]
    case 'read':
      return paths.length > 0 ? paths.map(file_path => ({ tool: 'Read', input: { file_path } })) : [worst(call, name)]
    case 'edit':
      return paths.length > 0 ? paths.map(file_path => edit(call, file_path)) : [worst(call, name)]
    case 'delete':
      return paths.length > 0
        ? paths.map(path => ({ tool: 'Bash', input: { command: `rm -- ${shellWord(path)}` } }))
        : [worst(call, name)]
    case 'fetch':
      return typeof input['url'] === 'string'
        ? [{ tool: 'WebFetch', input: { url: input['url'] } }]
        : [worst(call, name)]
    default:
      return [worst(call, name)]
  }
}

function edit(call: ToolCall, file_path: string): Named {
  const diff = (call.content ?? []).find(one => one.type === 'diff' && one.path === file_path)
  if (!diff?.oldText) return { tool: 'Write', input: { file_path, content: diff?.newText ?? '' } }
  return { tool: 'Edit', input: { file_path, old_string: diff.oldText, new_string: diff.newText ?? '' } }
}

/** Everything that is known of it goes along, for whoever decides. */
function worst(call: ToolCall, name: string | undefined): Named {
  const { title, kind, locations } = call
  return {
    tool: `unknown:execute:${name ?? kind ?? 'call'}`,
    input: {
      ...inputOf(call),
      ...(title && { title }),
      ...(kind && { kind }),
      ...(locations && { paths: locations.map(one => one.path) }),
    },
  }
}

function pathsOf(call: ToolCall): string[] {
  const diffs = (call.content ?? []).flatMap(one => (one.type === 'diff' && one.path ? [one.path] : []))
  return [...new Set([...diffs, ...(call.locations ?? []).map(one => one.path)])]
}

export function inputOf({ rawInput }: ToolCall): Record<string, unknown> {
  const isObject = typeof rawInput === 'object' && rawInput !== null && !Array.isArray(rawInput)
  return isObject ? (rawInput as Record<string, unknown>) : {}
}

function firstOf(call: ToolCall, sources: Source[]): unknown {
  for (const source of sources) {
    const found = take(call, source)
    if (found !== undefined && found !== null && found !== '') return found
  }
  return undefined
}

function take(call: ToolCall, source: Source): unknown {
  const diff = (call.content ?? []).find(one => one.type === 'diff')
  switch (source) {
    case 'title':
      return call.title
    case 'location':
      return call.locations?.[0]?.path
    case 'diff.path':
      return diff?.path
    case 'diff.old':
      return diff?.oldText
    case 'diff.new':
      return diff?.newText
    default:
      return inputOf(call)[source.slice('input.'.length)]
  }
}
