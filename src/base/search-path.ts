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

/** The folders of a PATH that do not count. */
export function ignoredFolders(path: string | undefined): string[] {
  return path ? path.split(':').filter(folder => !folder.startsWith('/')) : []
}

/** An environment for a program that we start: its PATH has no relative folders, so that what it starts is found as we find it. */
export function withWholePath<E extends Env>(env: E): E {
  const path = env['PATH']
  return path === undefined ? env : { ...env, PATH: foldersOf(path).join(':') }
}
