import type { Reader } from './reader.ts'

/** One folder of a project and the names in it. */
export interface WalkedFolder {
  /** Relative to the project; `.` is the project itself. */
  path: string
  depth: number
  files: string[]
  folders: string[]
}

export interface Walk {
  folders: WalkedFolder[]
  files: number
  isCut: boolean
}

/** What nobody wrote by hand in this project: dependencies, what is built, caches, other people's code. */
const NOT_OURS = new Set(
  `node_modules bower_components jspm_packages vendor third_party target build dist out obj coverage htmlcov venv env
   __pycache__ site-packages deps _build Pods DerivedData bazel-bin bazel-out worktrees`.split(/\s+/),
)

/** Folders whose manifests are material, not projects to work on. */
const MATERIAL = /(^|\/)(fixtures?|__fixtures__|testdata|test-data|examples?|samples?|templates?|snapshots?)(\/|$)/i

/** More than that says nothing new about which language a project is in. */
const MOST_FILES = 50_000
const MOST_FOLDERS = 5_000
const MOST_DEPTH = 12

/** Looks through a project, nearest folders first, so that what is cut is what lies deepest. */
export async function walk(reader: Reader, most = { files: MOST_FILES, folders: MOST_FOLDERS }): Promise<Walk> {
  const found: WalkedFolder[] = []
  const waiting = [{ path: '.', depth: 0 }]
  let files = 0
  let isCut = false
  for (let at = waiting.shift(); at; at = waiting.shift()) {
    if (found.length >= most.folders || files >= most.files) return { folders: found, files, isCut: true }
    const entries = await reader.list(at.path)
    const folder: WalkedFolder = { ...at, files: [], folders: [] }
    for (const { name, kind } of entries) {
      if (kind === 'file') folder.files.push(name)
      else if (kind === 'folder') folder.folders.push(name)
    }
    found.push(folder)
    files += folder.files.length
    for (const name of folder.folders.filter(isOurs)) {
      if (at.depth < MOST_DEPTH)
        waiting.push({ path: at.path === '.' ? name : `${at.path}/${name}`, depth: at.depth + 1 })
      else isCut = true
    }
  }
  return { folders: found, files, isCut }
}

/** Whether a manifest in this folder is one of the project's own. */
export function mayBeUnit({ path, depth }: WalkedFolder): boolean {
  return depth <= 4 && !MATERIAL.test(path)
}

function isOurs(name: string): boolean {
  return !name.startsWith('.') && !NOT_OURS.has(name)
}
