import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { readTextIfAny } from '../../base/files.ts'
import { lookUp } from '../../base/is-there.ts'

/** Claude Code loads `settings`, `prompts` and `mcp` with its source `project`, and `local` with its source `local`. */
export type SurfaceKind = 'pcc' | 'rules' | 'layers' | 'settings' | 'local' | 'mcp' | 'prompts' | 'scripts' | 'git'

export interface SurfaceFile {
  path: string
  kind: SurfaceKind
  /** The directory that the file must really be in: a link that leads out of it is refused. */
  within: string
  /** Why its content is not known. */
  problem?: string
}

/**
 * Finds every file of a project that Claude Code would load and that can run code or widen rights. Observed with 2.1.325:
 * `.mcp.json` counts in the directory and every one above it; `settings.json` only in the directory itself;
 * `settings.local.json` also at the top of the git checkout and, in a worktree, at the top of the main one; agents,
 * commands, skills and workflows in every directory up to the top of the checkout, or to the root without git; and skills in
 * every directory below, from the moment the agent touches a file there. Other files of a `.claude` below are not loaded today;
 * they count all the same, because the next release may load them.
 */
export async function findSurface(project: string): Promise<SurfaceFile[]> {
  const above = directoriesAbove(project)
  const checkout = await findCheckout(project)
  const top = checkout?.top
  const inside = top === undefined ? above : above.slice(0, above.indexOf(top) + 1)
  const withinOf = (directory: string) => (top !== undefined && inside.includes(directory) ? top : directory)

  const files: SurfaceFile[] = above.map(directory => mcpIn(directory, withinOf(directory)))
  // All at once: one after another takes several times as long.
  const [below, ...found] = await Promise.all([
    findSurfaceBelow(project, withinOf(project)),
    ...inside.filter(path => !isHome(path)).map(directory => namedIn(directory, withinOf(directory))),
  ])
  files.push(...found.flat())
  if (!isHome(project)) files.push(settingsIn(project, withinOf(project)))
  for (const directory of new Set([project, ...(checkout ? [checkout.top, checkout.main] : [])])) {
    if (!isHome(directory)) files.push(localIn(directory, withinOf(directory)))
  }
  return [...files, ...below]
}

async function findSurfaceBelow(project: string, within: string): Promise<SurfaceFile[]> {
  const { holders, isCut } = await findClaudeFolders(project)
  const found = await Promise.all(
    holders
      .filter(path => !isHome(path))
      .map(async directory => [
        settingsIn(directory, within),
        localIn(directory, within),
        ...(await namedIn(directory, within)),
      ]),
  )
  return [...found.flat(), ...(isCut ? [{ path: project, kind: 'prompts' as const, within, problem: TOO_MANY }] : [])]
}

const TOO_MANY = 'more folders than can be looked through'

const mcpIn = (directory: string, within: string): SurfaceFile => ({
  path: join(directory, '.mcp.json'),
  kind: 'mcp',
  within,
})
const settingsIn = (directory: string, within: string): SurfaceFile => ({
  path: join(directory, '.claude/settings.json'),
  kind: 'settings',
  within,
})
const localIn = (directory: string, within: string): SurfaceFile => ({
  path: join(directory, '.claude/settings.local.json'),
  kind: 'local',
  within,
})

/** What a `.claude` holds under names of its own. */
async function namedIn(directory: string, within: string): Promise<SurfaceFile[]> {
  return (await Promise.all([promptsIn(directory, within), scriptsIn(directory, within)])).flat()
}

async function promptsIn(directory: string, within: string): Promise<SurfaceFile[]> {
  const folder = (name: string) => listFiles(join(directory, '.claude', name))
  const [agents, commands, styles, skills, workflows] = await Promise.all(
    ['agents', 'commands', 'output-styles', 'skills', 'workflows'].map(folder),
  )
  const texts = [...(agents ?? []), ...(commands ?? []), ...(styles ?? [])].filter(path => /\.md$/i.test(path))
  const heads = (skills ?? []).filter(path => /\/SKILL\.md$/i.test(path))
  return [...texts, ...heads, ...(workflows ?? [])].map(path => ({ path, kind: 'prompts', within }))
}

async function scriptsIn(directory: string, within: string): Promise<SurfaceFile[]> {
  const scripts = await listFiles(join(directory, '.claude/hooks'))
  return scripts.map(path => ({ path, kind: 'scripts', within }))
}

/** All files below a folder, through links, each real folder once. A folder that we may not enter is closed to the agent too. */
async function listFiles(folder: string, seen = new Set<string>()): Promise<string[]> {
  const info = lookUp(folder)
  const id = info && `${info.dev}:${info.ino}`
  if (!info?.isDirectory() || id === undefined || seen.has(id)) return []
  seen.add(id)
  const files: string[] = []
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name)
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && lookUp(path)?.isDirectory())
    if (isFolder) files.push(...(await listFiles(path, seen)))
    else files.push(path)
  }
  return files
}

/** The top of the git checkout that a directory is in, and of the main checkout if it is a worktree. */
export async function findCheckout(from: string): Promise<{ top: string; main: string } | undefined> {
  for (const directory of directoriesAbove(from)) {
    const entry = lookUp(join(directory, '.git'))
    if (entry?.isDirectory()) return { top: directory, main: directory }
    if (entry?.isFile()) return { top: directory, main: await findMainCheckout(directory) }
  }
  return undefined
}

async function findMainCheckout(worktree: string): Promise<string> {
  const read = async (path: string) => (await readTextIfAny(path).catch(() => undefined)) ?? ''
  const gitDir = /^gitdir: (.+)$/m.exec(await read(join(worktree, '.git')))?.[1]
  if (gitDir === undefined) return worktree
  const ownGitDir = resolve(worktree, gitDir.trim())
  const common = (await read(join(ownGitDir, 'commondir'))).trim()
  return common === '' ? worktree : dirname(resolve(ownGitDir, common))
}

function directoriesAbove(directory: string): string[] {
  const parent = dirname(directory)
  return parent === directory ? [directory] : [directory, ...directoriesAbove(parent)]
}

/** The `.claude` of the home directory is the person's own, not a project's. */
function isHome(directory: string): boolean {
  return directory === resolve(homedir())
}

/** More than any repository has; reading so many takes a second. */
const MOST_FOLDERS = 100_000
/** Folders that are read at the same time: one after another takes ten times as long. */
const AT_ONCE = 64

export interface ClaudeFolders {
  /** Every directory below the project, not the project itself, that has a `.claude` in it. */
  holders: string[]
  /** Whether there are more folders than were read. */
  isCut: boolean
}

/**
 * Searches a whole project, `node_modules` included: the agent picks up `.claude/skills` in any folder whose files it touches.
 * Links are not followed: a target in the project is found there, and one outside of it needs a permission of its own. `.git` is
 * skipped, because its content cannot come with a clone.
 */
export async function findClaudeFolders(project: string, most = MOST_FOLDERS): Promise<ClaudeFolders> {
  const waiting = [project]
  const holders: string[] = []
  const readFolder = async (folder: string) => {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (entry.name === '.claude' && folder !== project) holders.push(folder)
      if (entry.isDirectory() && entry.name !== '.git') waiting.push(join(folder, entry.name))
    }
  }
  let count = 0
  while (waiting.length > 0 && count < most) {
    const batch = waiting.splice(-AT_ONCE)
    count += batch.length
    await Promise.all(batch.map(readFolder))
  }
  return { holders: holders.sort(), isCut: waiting.length > 0 }
}
