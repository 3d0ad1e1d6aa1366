import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside } from './is-inside.ts'
import { realPathIfAny } from './is-there.ts'

type Env = Record<string, string | undefined>

/** Where programs are searched if the PATH names no folder. */
const STANDARD = ['/usr/local/bin', '/usr/bin', '/bin']

/**
 * The folders of a PATH that count. A relative one (`./node_modules/.bin`, `.`, or an empty name) means another folder in every
 * directory: in an untrusted repository its `git` would be run, and in a worktree an agent may write there.
 */
export function foldersOf(path: string | undefined): string[] {
  const folders = (path ?? '').split(':').filter(folder => folder.startsWith('/'))
  return folders.length > 0 ? folders : STANDARD
}

/**
 * The folders of a PATH in which pcc finds the programs that it runs for itself, outside of any sandbox (git, gh, bwrap). Folders of
 * a project are none of them: an activated virtual environment and `npx` put one first, and an agent can write there. `projects` are
 * the directories that the call is about.
 */
export function pathOutsideProjects(path: string | undefined, projects: readonly string[] = []): string {
  const roots = projects.flatMap(project => [project, realPath(project)])
  const outside = foldersOf(path).filter(folder => {
    const real = realPath(folder)
    return ![folder, real].some(each => isProjectFolder(each) || roots.some(root => isInside(each, root)))
  })
  return (outside.length > 0 ? outside : STANDARD).join(':')
}

/** Folders that tools make in a project. */
function isProjectFolder(folder: string): boolean {
  return folder.endsWith('/node_modules/.bin') || existsSync(join(dirname(folder), 'pyvenv.cfg'))
}

function realPath(path: string): string {
  return realPathIfAny(path) ?? path
}

/** The folders of a PATH that do not count. */
export function ignoredFolders(path: string | undefined): string[] {
  return path ? path.split(':').filter(folder => !folder.startsWith('/')) : []
}

/** An environment for a program that we start: its PATH has no relative folders, so that what it starts is found as we find it. */
export function withWholePath<E extends Env>(env: E): E {
  const path = env['PATH']
  return path === undefined ? env : { ...env, PATH: foldersOf(path).join(':') }
}
