import { quoteForShell } from '../../base/words.ts'
import type { TrustedFile } from './files.ts'
import type { SurfaceKind } from './surface.ts'

type Source = 'user' | 'project' | 'local'

export interface LoadableSources {
  sources: Source[]
  /**
   * The agent must be started without MCP servers from files, the person's own included. Set if `project` is loaded but its
   * `.mcp.json` may not be; without `project` Claude Code does not read `.mcp.json` at all.
   */
  strictMcp: boolean
  /** No hook of any settings file may run, the person's own included: a hook of the project could change a judged command. */
  hooksOff: boolean
  /** For the person: what was left out and what to do about it. */
  note?: string
}

/** Which of Claude Code's own settings a session may load: those of the project only if a person has agreed to them. */
export function settingSourcesFor(status: TrustStatus, configured: readonly Source[]): LoadableSources {
  const waits = status.state === 'untrusted' || status.state === 'changed'
  const has = (...kinds: SurfaceKind[]) => waits && status.files.some(file => kinds.includes(file.kind))
  const isLeftOut = (source: Source) =>
    (source === 'project' && has('settings', 'prompts')) || (source === 'local' && has('local'))
  const sources = configured.filter(source => !isLeftOut(source))
  const strictMcp = has('mcp') && sources.includes('project')
  const racing = findRacingFiles(status, sources)
  const loadable = { sources, strictMcp, hooksOff: racing.length > 0 }
  const notes = [
    ...(sources.length < configured.length || strictMcp ? [describeLeftOut(status, configured, loadable)] : []),
    ...(racing.length > 0 ? [`No hooks run, your own included: ${racing.join(', ')} ${COULD_RACE}`] : []),
  ]
  return notes.length === 0 ? loadable : { ...loadable, note: notes.join(' ') }
}

const COULD_RACE = 'could answer a permission request in our place and change a command after it was judged.'

function findRacingFiles({ files }: TrustStatus, sources: Source[]): string[] {
  const loaded: SurfaceKind[] = [
    ...(sources.includes('project') ? (['settings', 'prompts'] as const) : []),
    ...(sources.includes('local') ? (['local'] as const) : []),
  ]
  return files
    .filter(file => loaded.includes(file.kind) && file.contains.some(finding => finding.mayRace))
    .map(file => file.path)
}

function describeLeftOut(
  status: TrustStatus,
  configured: readonly Source[],
  { sources, strictMcp }: Omit<LoadableSources, 'note'>,
): string {
  const leftOut = configured.filter(source => !sources.includes(source))
  const kinds: SurfaceKind[] = [
    ...(leftOut.includes('project') ? (['settings', 'prompts', 'mcp'] as const) : []),
    ...(leftOut.includes('local') ? (['local'] as const) : []),
    ...(strictMcp ? (['mcp'] as const) : []),
  ]
  const reasons = status.files
    .filter(file => kinds.includes(file.kind))
    .map(file => `${file.path} has ${[...new Set(file.contains.map(finding => finding.kind))].join(', ')}`)
  const costs = [
    ...(leftOut.includes('project') ? ["the project's CLAUDE.md is not loaded either"] : []),
    ...(strictMcp ? ['no MCP server from a file is started, your own included'] : []),
  ]
  const since = status.state === 'changed' ? ` (changed since you agreed: ${status.changed.join(', ')})` : ''
  return [
    `Project settings not loaded${since}: ${reasons.join('; ')}.`,
    ...costs.map(cost => `Until then ${cost}.`),
    `To load them: pcc trust ${quoteForShell(status.project)}`,
  ].join(' ')
}

/**
 * The files of a project that run code or widen rights, with their content. A repository cannot loosen its own guard: a person
 * agrees to exactly this content, and any change of it needs a new agreement.
 */
export interface TrustStatus {
  /** Real path. */
  project: string
  state: 'nothing-to-trust' | 'trusted' | 'untrusted' | 'changed'
  files: TrustedFile[]
  /** In state `changed`: the paths that differ from the agreement. */
  changed: string[]
  /** Settings of the repository that name programs for git, and that the person has not agreed to. */
  git?: string[]
  /** When the person agreed. */
  since?: number
}
