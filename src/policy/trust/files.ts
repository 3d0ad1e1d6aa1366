import { homedir } from 'node:os'
import { dirname, relative } from 'node:path'
import type { Places } from '../../base/places.ts'
import { readConfigFile } from '../../domain/config/file-layer.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { findProjectFile } from '../../domain/config/project-layer.ts'
import { settingOf } from '../../domain/config/settings.ts'
import { findingsInRules } from '../rules/findings.ts'
import { findProjectRules } from '../rules/places.ts'
import { type Finding, findingsInMcp, findingsInSettings, shown } from './findings.ts'
import { findingsInPrompt } from './prompt-findings.ts'
import { readSurface } from './read.ts'
import { scriptsNamedIn } from './scripts.ts'
import { type SurfaceFile, type SurfaceKind, surfaceOf } from './surface.ts'

export interface TrustedFile {
  /** Relative to the project. */
  path: string
  kind: SurfaceKind
  contains: Finding[]
  sha256: string
  /** Set where it cannot be agreed to at all. */
  refused?: { problem: string; target: string }
}

/** Every file of a project that somebody must agree to, sorted by path; empty when nothing runs code or widens rights. */
export async function filesToTrust(places: Places, project: string): Promise<TrustedFile[]> {
  const surface = [
    ...(await projectFileOf(project)),
    ...(await rulesFileOf(places, project)),
    ...(await surfaceOf(project)),
  ]
  return judged(surface, { places, directory: project, named: path => relative(project, path) || '.' })
}

/** A checkout of a project's repository beside the project itself. */
export interface Checkout {
  /** What the project is of it. */
  directory: string
  /** Its top. */
  top: string
}

/**
 * The same of what an agent loads in a worktree of the project, each named as if it lay in the project. Settings and rules of ours
 * are not among them: those are the project's own, wherever the agent works.
 */
export async function filesToTrustIn(
  places: Places,
  { project, directory, top }: Checkout & { project: string },
): Promise<TrustedFile[]> {
  const isInside = (path: string) => !relative(top, path).startsWith('..')
  const named = (path: string) => relative(isInside(path) ? directory : project, path) || '.'
  return judged(await surfaceOf(directory), { places, directory, named })
}

interface Judging {
  places: Places
  directory: string
  /** What a file is called. */
  named(path: string): string
}

async function judged(surface: readonly SurfaceFile[], judging: Judging): Promise<TrustedFile[]> {
  const found = new Map<string, TrustedFile>()
  const named: SurfaceFile[] = []
  for (const file of surface.filter(each => each.kind !== 'scripts')) {
    const one = await judge(file, judging)
    if (!one) continue
    found.set(file.path, one.file)
    const scripts = await scriptsNamedIn(
      file.kind === 'pcc' ? withoutComments(one.text) : one.text,
      judging.directory,
      file.within,
    )
    named.push(...scripts.map(path => ({ path, kind: 'scripts' as const, within: file.within })))
  }
  if (found.size === 0) return []
  for (const script of [...surface.filter(each => each.kind === 'scripts'), ...named]) {
    if (found.has(script.path)) continue
    const one = await judge(script, judging)
    if (one) found.set(script.path, one.file)
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** A surface file with what it contains; undefined when there is nothing in it to agree to. */
async function judge(
  file: SurfaceFile,
  { places, named }: Judging,
): Promise<{ file: TrustedFile; text: string } | undefined> {
  const read = await readSurface(file)
  if (read.is === 'absent') return undefined
  const path = named(file.path)
  if (read.is === 'unreadable') {
    const { problem, target } = read
    const contains = [{ kind: problem, text: `${problem}: ${shown(target)}` }]
    return { file: { path, kind: file.kind, contains, sha256: '', refused: { problem, target } }, text: '' }
  }
  const contains = await findingsIn(places, file, read.text)
  if (contains.length === 0 && file.kind !== 'scripts') return undefined
  const refused = read.outside ? { refused: { problem: 'a link out of the project', target: read.outside } } : {}
  return { file: { path, kind: file.kind, contains, sha256: read.sha256, ...refused }, text: read.text }
}

async function findingsIn(places: Places, file: SurfaceFile, text: string): Promise<Finding[]> {
  switch (file.kind) {
    case 'pcc':
      return settingsThatWait(places, file.path)
    case 'rules':
      return findingsInRules(file.path, text)
    case 'settings':
    case 'local':
      return findingsInSettings(text)
    case 'mcp':
      return findingsInMcp(text)
    case 'prompts':
      return /\.md$/i.test(file.path)
        ? findingsInPrompt(text)
        : [{ kind: 'a workflow', text: 'a script for the agent' }]
    case 'scripts':
      return []
  }
}

async function settingsThatWait(places: Places, path: string): Promise<Finding[]> {
  const { untrusted } = await loadConfig({ places, env: {}, project: dirname(path) })
  const file = await readConfigFile(path, homedir())
  return untrusted.map(key => {
    const value = settingOf(key).secret ? '(secret)' : shown(file?.values[key])
    return { kind: key, text: `${key} = ${value}` }
  })
}

async function projectFileOf(project: string): Promise<SurfaceFile[]> {
  const path = await findProjectFile(project, homedir())
  return path === undefined ? [] : [{ path, kind: 'pcc', within: dirname(path) }]
}

async function rulesFileOf(places: Places, project: string): Promise<SurfaceFile[]> {
  const path = await findProjectRules(places, project)
  return path === undefined ? [] : [{ path, kind: 'rules', within: dirname(dirname(path)) }]
}

/** What a comment of our own file names is run by nobody: `pcc init` notes there which files it has looked at. */
function withoutComments(toml: string): string {
  return toml.replaceAll(/^\s*#.*$/gm, '')
}
