import type { TrustedFile } from './files.ts'
import type { SurfaceKind } from './surface.ts'

type Source = 'user' | 'project' | 'local'

export interface LoadableSources {
  sources: Source[]
  /**
   * The agent must be started with no MCP servers from files. Set when `project` is loaded but its `.mcp.json` may not
   * be; without `project` Claude Code does not read `.mcp.json` at all. It also leaves out the person's own servers.
   */
  strictMcp: boolean
  /** No hook of any settings file may run, the person's own included: one of the project's could change a judged command. */
  hooksOff: boolean
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
  const racing = racingFiles(status, sources)
  const loadable = { sources, strictMcp, hooksOff: racing.length > 0 }
  const notes = [
    ...(sources.length < configured.length || strictMcp ? [noteFor(status, configured, loadable)] : []),
    ...(racing.length > 0 ? [`No hooks run, your own included: ${racing.join(', ')} ${COULD_RACE}`] : []),
  ]
  return notes.length === 0 ? loadable : { ...loadable, note: notes.join(' ') }
}

const COULD_RACE = 'could answer a permission request in our place and change a command after it was judged.'

function racingFiles({ files }: TrustStatus, sources: Source[]): string[] {
  const loaded: SurfaceKind[] = [
    ...(sources.includes('project') ? (['settings', 'prompts'] as const) : []),
    ...(sources.includes('local') ? (['local'] as const) : []),
  ]
  return files.filter(file => loaded.includes(file.kind) && file.contains.some(each => each.mayRace)).map(f => f.path)
}

function noteFor(
  status: TrustStatus,
  configured: readonly Source[],
  { sources, strictMcp }: Omit<LoadableSources, 'note'>,
): string {
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

/**
 * A repository cannot loosen its own guard. What in a project runs code or widens rights is listed here with its content;
 * a person agrees to exactly that, and any change of it is asked again.
 */
export interface TrustStatus {
  /** Real path. */
  project: string
  state: 'nothing-to-trust' | 'trusted' | 'untrusted' | 'changed'
  files: TrustedFile[]
  /** With `changed`: the paths that differ from what was agreed to. */
  changed: string[]
  /** When it was agreed to. */
  since?: number
}
