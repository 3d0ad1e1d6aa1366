import type { TrustStatus } from './status.ts'
import type { SurfaceKind } from './surface.ts'

type Source = 'user' | 'project' | 'local'

export interface LoadableSources {
  sources: Source[]
  /**
   * The agent must be started with no MCP servers from files. Set when `project` is loaded but its `.mcp.json` may not
   * be; without `project` Claude Code does not read `.mcp.json` at all. It also leaves out the person's own servers.
   */
  strictMcp: boolean
  /** What was left out and what to do about it, for the person. */
  note?: string
}

/** Which of Claude Code's own settings a session may load: those of the project only as far as a person has agreed. */
export function settingSourcesFor(status: TrustStatus, configured: readonly Source[]): LoadableSources {
  const waits = status.state === 'untrusted' || status.state === 'changed'
  const has = (...kinds: SurfaceKind[]) => waits && status.files.some(file => kinds.includes(file.kind))
  const left = (source: Source) =>
    (source === 'project' && has('settings', 'prompts')) || (source === 'local' && has('local'))
  const sources = configured.filter(source => !left(source))
  const strictMcp = has('mcp') && sources.includes('project')
  if (sources.length === configured.length && !strictMcp) return { sources, strictMcp }
  return { sources, strictMcp, note: noteFor(status, configured, { sources, strictMcp }) }
}

function noteFor(status: TrustStatus, configured: readonly Source[], { sources, strictMcp }: LoadableSources): string {
  const gone = configured.filter(source => !sources.includes(source))
  const kinds: SurfaceKind[] = [
    ...(gone.includes('project') ? (['settings', 'prompts', 'mcp'] as const) : []),
    ...(gone.includes('local') ? (['local'] as const) : []),
    ...(strictMcp ? (['mcp'] as const) : []),
  ]
  const reasons = status.files
    .filter(file => kinds.includes(file.kind))
    .map(file => `${file.path} has ${[...new Set(file.contains.map(each => each.kind))].join(', ')}`)
  const costs = [
    ...(gone.includes('project') ? ["the project's CLAUDE.md is not loaded either"] : []),
    ...(strictMcp ? ['no MCP server from a file is started, your own included'] : []),
  ]
  const since = status.state === 'changed' ? ` (changed since you agreed: ${status.changed.join(', ')})` : ''
  return [
    `Project settings not loaded${since}: ${reasons.join('; ')}.`,
    ...costs.map(cost => `Until then ${cost}.`),
    `To load them: pcc trust ${status.project}`,
  ].join(' ')
}
