import { constants } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, relative, resolve, sep } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { messageOf } from '../../base/errors.ts'
import { readRegularFile } from '../../base/files.ts'
import { isInside } from '../../base/is-inside.ts'
import { isThere } from '../../base/is-there.ts'
import { findProjectFile, readConfigFile } from '../../domain/config/layers.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { settingOf } from '../../domain/config/settings.ts'
import { filesIn, LAYER_KINDS } from '../layers.ts'
import { findInProject, findProjectRules } from '../verdict/rules-file.ts'
import { findingsInMcp, findingsInRules, findingsInSettings, showValue, type TrustFinding } from './findings.ts'
import { findGitFiles, findingsInGit } from './git-programs.ts'
import { findSurface, type SurfaceFile, type SurfaceKind } from './surface.ts'

export interface TrustedFile {
  /** Relative to the project. */
  path: string
  kind: SurfaceKind
  contains: TrustFinding[]
  sha256: string
  /** Set if the file cannot be agreed to at all. */
  refused?: { problem: string; target: string }
}

/** Every file of a project that a person must agree to, sorted by path; empty if nothing runs code or widens rights. */
export async function filesToTrust(paths: AppPaths, project: string): Promise<TrustedFile[]> {
  const found = await Promise.all([
    findConfigFile(project),
    findRulesFile(paths, project),
    findLayerFiles(paths, project),
    findSurface(project),
    findGitFiles(project),
  ])
  return judgeSurface(found.flat(), { paths, directory: project, nameOf: path => relative(project, path) || '.' })
}

/** A checkout of a project's repository beside the project itself. */
export interface TrustCheckout {
  /** The project's directory in the checkout. */
  directory: string
  /** The top of the checkout. */
  top: string
}

/**
 * The same for the files that an agent loads in a worktree of the project, each named as if it were in the project. pcc's own
 * settings and rules are not among them: those come from the project, wherever the agent works.
 */
export async function filesToTrustIn(
  paths: AppPaths,
  { project, directory, top }: TrustCheckout & { project: string },
): Promise<TrustedFile[]> {
  const nameOf = (path: string) => relative(isInside(path, top) ? directory : project, path) || '.'
  const found = await Promise.all([findSurface(directory), findGitFiles(directory)])
  return judgeSurface(found.flat(), { paths, directory, nameOf })
}

interface JudgeContext {
  paths: AppPaths
  directory: string
  /** The path by which a file is shown and recorded. */
  nameOf(path: string): string
}

async function judgeSurface(candidates: readonly SurfaceFile[], context: JudgeContext): Promise<TrustedFile[]> {
  // Most are not there.
  const surface = candidates.filter(({ path, problem }) => problem !== undefined || isThere(path))
  const trusted = new Map<string, TrustedFile>()
  const namedScripts: SurfaceFile[] = []
  for (const file of surface.filter(entry => entry.kind !== 'scripts')) {
    const judged = await judgeSurfaceFile(file, context)
    if (!judged) continue
    trusted.set(file.path, judged.file)
    if (file.kind === 'git') continue
    const scripts = await findNamedScripts(
      file.kind === 'pcc' ? withoutComments(judged.text) : judged.text,
      context.directory,
      file.within,
    )
    namedScripts.push(...scripts.map(path => ({ path, kind: 'scripts' as const, within: file.within })))
  }
  if (trusted.size === 0) return []
  for (const script of [...surface.filter(entry => entry.kind === 'scripts'), ...namedScripts]) {
    if (trusted.has(script.path)) continue
    const judged = await judgeSurfaceFile(script, context)
    if (judged) trusted.set(script.path, judged.file)
  }
  return [...trusted.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** A surface file with its findings; undefined if there is nothing in it to agree to. */
async function judgeSurfaceFile(
  file: SurfaceFile,
  { paths, nameOf }: JudgeContext,
): Promise<{ file: TrustedFile; text: string } | undefined> {
  const read = await readSurface(file)
  if (read.is === 'absent') return undefined
  const path = nameOf(file.path)
  if (read.is === 'unreadable') {
    const { problem, target } = read
    const contains = [{ kind: problem, text: `${problem}: ${showValue(target)}` }]
    return { file: { path, kind: file.kind, contains, sha256: '', refused: { problem, target } }, text: '' }
  }
  const contains = await findingsIn(paths, file, read.text)
  if (contains.length === 0 && file.kind !== 'scripts') return undefined
  const sha256 = file.kind === 'git' ? hashFindings(contains, read) : read.sha256
  const refused =
    read.outside && file.kind !== 'git'
      ? { refused: { problem: 'a link out of the project', target: read.outside } }
      : {}
  return { file: { path, kind: file.kind, contains, sha256, ...refused }, text: read.text }
}

async function findingsIn(paths: AppPaths, file: SurfaceFile, text: string): Promise<TrustFinding[]> {
  switch (file.kind) {
    case 'pcc':
      return findUntrustedSettings(paths, file.path)
    case 'rules':
      return findingsInRules(file.path, text)
    case 'layers':
      return [
        { kind: 'presets', text: /\/profiles\/[^/]+$/.test(file.path) ? 'a preset of a role' : 'a file for one agent' },
      ]
    case 'settings':
    case 'local':
      return findingsInSettings(text)
    case 'mcp':
      return findingsInMcp(text)
    case 'prompts':
      if (/\/\.claude\/output-styles\//.test(file.path))
        return [{ kind: 'an output style', text: 'replaces instructions of the agent' }]
      if (/\.md$/i.test(file.path) && isPlainPrompt(text)) return []
      return /\.md$/i.test(file.path)
        ? (await import('./prompt-findings.ts')).findingsInPrompt(text)
        : [{ kind: 'a workflow', text: 'a script for the agent' }]
    case 'git':
      return findingsInGit(file.path, text)
    case 'scripts':
      return []
  }
}

/**
 * Whether a prompt has the plain head of the skills that `pcc init` writes, in which nothing can be found, and runs no command. Any other
 * is parsed, which loads the parser of YAML first.
 */
export function isPlainPrompt(text: string): boolean {
  return PLAIN_HEAD.test(text) && !/!`|```!/.test(text)
}

const PLAIN_HEAD = /^---\nname: [a-z]+(?:-[a-z]+)*\ndescription: [A-Za-z]+(?:[ ,.]+[A-Za-z]+)*\.?\n---\n/

/** A file of settings changes with every branch, so only what it runs counts; a hook counts as a whole. */
function hashFindings(contains: TrustFinding[], { sha256, text }: { sha256: string; text: string }): string {
  const isHook = contains.every(({ text: found }) => found.startsWith('hook '))
  return isHook || text === '' ? sha256 : sha256Hash().update(JSON.stringify(contains)).digest('hex')
}

async function findUntrustedSettings(paths: AppPaths, path: string): Promise<TrustFinding[]> {
  const { untrusted } = await loadConfig({ paths, env: {}, project: dirname(path) })
  const file = await readConfigFile(path, homedir())
  return untrusted.map(key => {
    const value = settingOf(key).secret ? '(secret)' : showValue(file?.values[key])
    return { kind: key, text: `${key} = ${value}` }
  })
}

async function findConfigFile(project: string): Promise<SurfaceFile[]> {
  const path = await findProjectFile(project, homedir())
  return path === undefined ? [] : [{ path, kind: 'pcc', within: dirname(path) }]
}

async function findRulesFile(paths: AppPaths, project: string): Promise<SurfaceFile[]> {
  const path = await findProjectRules(paths, project)
  return path === undefined ? [] : [{ path, kind: 'rules', within: dirname(dirname(path)) }]
}

/** Policies, profiles and files for tools. */
async function findLayerFiles(paths: AppPaths, project: string): Promise<SurfaceFile[]> {
  const found = await Promise.all(
    LAYER_KINDS.map(async kind => {
      const folder = await findInProject(paths, project, kind)
      if (folder === undefined) return []
      const files = await filesIn(folder, kind)
      const within = dirname(dirname(folder))
      return files.map(path => ({ path, kind: kind === 'policies' ? ('rules' as const) : ('layers' as const), within }))
    }),
  )
  return found.flat()
}

/** Files that a comment of our own file names are not run: `pcc init` notes in comments which files it has read. */
function withoutComments(toml: string): string {
  return toml.replaceAll(/^\s*#.*$/gm, '')
}

export type ReadFile =
  | { is: 'absent' }
  /** `outside` is the target of a link out of the project. */
  | { is: 'file'; sha256: string; text: string; outside?: string }
  | { is: 'unreadable'; problem: string; target: string }

/** The content of a surface file, with links followed. Scripts may be large, so they are hashed but their text is not kept. */
export async function readSurface({ path, within, kind, problem }: SurfaceFile): Promise<ReadFile> {
  if (problem !== undefined) return { is: 'unreadable', problem, target: path }
  try {
    const real = await realpath(path)
    const fence = await realpath(within)
    const outside = real !== fence && isInside(real, fence) ? {} : { outside: real }
    // Opening a pipe would wait for a writer for ever.
    if (!(await stat(real)).isFile()) return { is: 'unreadable', problem: 'not a regular file', target: real }
    if (kind === 'scripts') return { is: 'file', sha256: await hashFile(real), text: '', ...outside }
    const bytes = await readRegularFile(real)
    return {
      is: 'file',
      text: bytes.toString('utf8'),
      ...outside,
      get sha256() {
        return sha256Hash().update(bytes).digest('hex')
      },
    }
  } catch (thrown) {
    // A dangling link loads nothing; when its target appears, it is judged like any other file.
    if (isAbsent(thrown)) return { is: 'absent' }
    return { is: 'unreadable', problem: messageOf(thrown), target: path }
  }
}

/** `node:crypto` takes 5 ms to load, and most projects have nothing to trust. */
function sha256Hash() {
  return process.getBuiltinModule('node:crypto').createHash('sha256')
}

async function hashFile(path: string): Promise<string> {
  const hash = sha256Hash()
  // It may have become a pipe since it was looked at.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  if (!(await file.stat()).isFile()) throw new Error('not a regular file')
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function isAbsent(thrown: unknown): boolean {
  const code = (thrown as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/**
 * The files of a project that a settings text names in its commands: `"$CLAUDE_PROJECT_DIR"/scripts/guard.sh`,
 * `node tools/server.js`. Their content is part of what a person agrees to. Files that a command reaches only through another
 * program (`npm run x`, an `import`) are not found. Files that it only writes (`>> hook.log`) do not count, because the first
 * session would invalidate the agreement. A file that one command writes and another one names otherwise counts all the same.
 */
export async function findNamedScripts(text: string, project: string, within: string): Promise<string[]> {
  const fromProject = withoutOutputs(text.replaceAll(PROJECT_VARIABLE, ' ./'))
  const words = fromProject.split(/[\s"'`\\;|&()<>=,{}[\]]+/)
  // Whole strings count too: an argument may be a file name with a space in it.
  const strings = [...fromProject.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(match => (match[1] ?? '').trim())
  const files = new Set<string>()
  for (const name of new Set([...words, ...strings])) {
    const path = resolve(project, name)
    if (!/[./]/.test(name) || !path.startsWith(within + sep)) continue
    const info = await stat(path).catch(() => undefined)
    if (info?.isFile()) files.add(path)
  }
  return [...files]
}

/** The variable with the quotes that its documentation puts around it, also if JSON escapes them. */
const PROJECT_VARIABLE = /(?:\\?["'])?\$\{?(?:CLAUDE_PROJECT_DIR|PWD)\}?(?:\\?["'])?\/?/g

/** A redirection with its target. `->`, `=>` and the read-write `<>` do not match, nor does `>( … )`, which runs a command. */
const REDIRECTION = /(?<![-=<>])(?:>>|>\||>)\s*(?:\\?["'][^"'\\]*\\?["']|[^\s"'`\\;|&()<>]+)/g

/** Programs that only make or remove files, with their arguments, where they are the command itself and nothing else. */
const MAKERS = /(["'`;|&(\n]\s*)(?:touch|tee|mkdir|rm)\s[^"'`\\;|&()<>$\n]*/g

function withoutOutputs(text: string): string {
  return text.replaceAll(REDIRECTION, ' ').replaceAll(MAKERS, '$1')
}
