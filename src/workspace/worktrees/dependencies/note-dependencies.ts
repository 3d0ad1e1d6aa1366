import { lstat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { git } from '../../git/git.ts'
import { type Dependencies, writeNote } from '../notes/place-note.ts'
import { folderState } from './folder-state.ts'

/** Folders that installers fill. What builds fill (`target`) is changed by every build, and is not among them. */
const INSTALLED_FOLDERS = ['node_modules', 'vendor', '.venv', 'venv']

export interface ReadyFolders {
  /** Those that were copied from the project, from the top. */
  copied: readonly string[]
  /** Whether a set-up command ran, which may have made more, also further down. */
  hasSetUp: boolean
}

/** Notes how the dependency folders of a worktree are before its agent begins: what an agent changes in them shows. */
export async function noteDependencies(top: string, ready: ReadyFolders): Promise<void> {
  const made = ready.hasSetUp ? await madeFolders(top) : []
  const folders = new Set([...ready.copied, ...made].filter(path => basename(path) !== 'target'))
  const states: Dependencies[] = []
  for (const folder of folders) {
    const state = await folderState(join(top, folder))
    if (state) states.push({ folder, latest: state.latest, names: state.names, copied: ready.copied.includes(folder) })
  }
  if (states.length > 0) await nextTick(Math.max(...states.map(({ latest }) => latest)))
  await writeNote(top, { dependencies: states })
}

/** Kernels stamp files by a coarse clock: only what is written a tick later is sure to look later. */
async function nextTick(latest: number): Promise<void> {
  if (Date.now() - latest < TICK_MS) await setTimeout(TICK_MS)
}

const TICK_MS = 20

/** Those that an agent made itself: nobody can say what is in them. */
export async function unknownFolders(top: string, inside: string, known: readonly Dependencies[]): Promise<string[]> {
  const found: string[] = []
  for (const name of INSTALLED_FOLDERS) {
    const path = join(inside, name)
    if (known.some(({ folder }) => folder === path)) continue
    if (!(await lstat(join(top, path)).catch(() => undefined))) continue
    const tracked = await git(top, ['ls-files', '-z', '--', path])
    if (tracked.ok && tracked.stdout === '') found.push(path)
  }
  return found
}

async function madeFolders(top: string): Promise<string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const { stdout } = await git(top, args)
  const folders = stdout.split('\0').filter(path => path.endsWith('/'))
  return folders.map(path => path.slice(0, -1)).filter(path => INSTALLED_FOLDERS.includes(basename(path)))
}
