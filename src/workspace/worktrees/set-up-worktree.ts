import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { readTextIfAny } from '../../base/files.ts'
import { openRealFolder } from '../../base/real-folder.ts'
import { isSlot, type WorktreeRow } from '../../domain/worktree.ts'
import {
  copyDependencies,
  noteDependencies,
  runSetupCommand,
  type SetupCommand,
  waitForNextTick,
} from './dependencies.ts'
import { findDoubt } from './mend-dependencies.ts'
import { listUntracked } from './switch-slot.ts'
import { NO_WARM_FILES, noteWarmFiles, type WarmFiles } from './warm-files.ts'
import type { WorktreeDeps } from './worktree.ts'
import { besideKey, forgetNote, noteBeside, noteSharedFiles, readNote, writeNote } from './worktree-note.ts'

/**
 * Sets up what a worktree needs beside its files: our note, the dependencies, the person's set-up command. Failures are noted for
 * the person and stop nothing: the gates decide whether the work is good.
 */
export async function setUpWorktree(
  row: WorktreeRow,
  { settings, env, log, sandbox, caps, store }: WorktreeDeps,
  warm: WarmFiles = NO_WARM_FILES,
): Promise<string | null> {
  await mkdir(row.directory, { recursive: true }) // a project may be a folder that was never committed
  const timeoutMs = settings.setup_seconds * 1000
  const note = await writeTaskFile(row)
  await forgetNote(row.top)
  await noteSharedFiles(row, [row.base])
  const { reports: copying, copied } = await copyDependencies(row, settings.link, AbortSignal.timeout(timeoutMs))
  const stays = warm.kept.map(({ folder }) => `${folder} stays from the last task, unchanged`)
  const { setup } = settings
  const setUp =
    setup === undefined ? undefined : await runSetup(setup, warm, { ...{ env, timeoutMs, sandbox, caps }, row })
  const reports = [...(note ? [note] : []), ...stays, ...copying, ...(setUp ? [setUp.report] : [])]
  const inside = relative(row.top, row.directory)
  const ready = { copied: copied.map(name => join(inside, name)), kept: warm.kept }
  const doubts = setup === undefined ? await findDoubts(row, ready.copied, store) : new Map<string, string>()
  await noteDependencies(row.top, { ...ready, doubts, hasSetUp: setUp?.hasRun ?? false })
  const made = setUp?.hasRun ? await listMade(row) : []
  const stay = { ...ready, copied: ready.copied.filter(folder => !doubts.has(folder)) }
  if (isSlot(row) && setUp?.ok !== false) await noteWarmFiles(row, { ...stay, made, setup: setup ?? null })
  await noteReady(row.top, [
    ...ready.copied,
    ...made,
    ...warm.kept.map(({ folder }) => folder),
    ...(note ? [] : [taskFileOf(row)]),
  ])
  if (reports.length === 0) return null
  log.info({ task: row.task, attempt: row.attempt, said: reports }, 'worktree made ready')
  return reports.join('\n')
}

/** The sessions that may have changed what was copied from the project. Build output in `target` changes whenever somebody builds. */
async function findDoubts(
  row: WorktreeRow,
  copied: readonly string[],
  { sessions }: WorktreeDeps['store'],
): Promise<Map<string, string>> {
  const doubts = new Map<string, string>()
  for (const folder of copied.filter(path => basename(path) !== 'target')) {
    const doubt = await findDoubt(row, folder, { project: row.project, sessions })
    if (doubt !== undefined) doubts.set(folder, doubt)
  }
  return doubts
}

/** Runs the set-up command, unless everything that it made for the last task of a slot is still there and right. */
async function runSetup(
  command: string,
  { isSetUp }: WarmFiles,
  { row: { directory }, ...run }: Omit<SetupCommand, 'command' | 'directory'> & { row: WorktreeRow },
): Promise<{ report: string; ok: boolean; hasRun: boolean }> {
  if (isSetUp)
    return { report: `${command}: not run, because nothing that it installs has changed`, ok: true, hasRun: false }
  return { ...(await runSetupCommand({ command, directory, ...run })), hasRun: true }
}

/** What is in a worktree beside its files and our own note. */
async function listMade({ top, directory }: WorktreeRow): Promise<string[]> {
  const ours = join(relative(top, directory), '.perpetualcc')
  const paths = (await listUntracked(top)) ?? []
  return paths.filter(path => path !== ours && path !== join(ours, 'task.json'))
}

/**
 * Notes that the set-up is over, and what it has left in these paths: what is written from now on has a later change time, and what is moved
 * elsewhere another path. Installed folders are noted for themselves.
 */
export async function noteReady(top: string, paths: readonly string[]): Promise<void> {
  const { dependencies } = await readNote(top)
  await noteBeside(top, await listBeside(top, paths, new Set(dependencies.map(({ folder }) => folder))))
  const ready = Date.now()
  await writeNote(top, { ready })
  await waitForNextTick(ready)
}

/** All that is in these paths, folders included. */
async function listBeside(top: string, paths: readonly string[], skip: ReadonlySet<string>): Promise<string[]> {
  const keys: string[] = []
  const open = [...new Set(paths)]
  while (open.length > 0 && keys.length < MOST_NOTED) {
    const note = async (path: string) => {
      const stats = skip.has(path) ? undefined : await lstat(join(top, path)).catch(() => undefined)
      if (stats) keys.push(besideKey(path, stats.ino))
      if (stats?.isDirectory()) open.push(...(await readdir(join(top, path))).map(name => join(path, name)))
    }
    await Promise.all(open.splice(-AT_ONCE).map(note))
  }
  return keys
}

/** What a set-up leaves beyond that counts as the agent's. */
const MOST_NOTED = 500_000

/** How many entries are looked at once. */
const AT_ONCE = 64

/** The path of our own note about the task, from the top. */
export function taskFileOf({ top, directory }: Pick<WorktreeRow, 'top' | 'directory'>): string {
  return join(relative(top, directory), '.perpetualcc/task.json')
}

/** The only file of ours in a worktree, as a git pattern: specs and notes beside it belong to the person and are not ignored. */
const TASK_FILE_PATTERN = '**/.perpetualcc/task.json'

/**
 * Writes a file into the worktree that says which task it belongs to, and keeps that file out of the project's history. Returns
 * why it could not, for instance where the project has a file of that name itself.
 */
export async function writeTaskFile(row: WorktreeRow): Promise<string | undefined> {
  const folder = join(row.directory, '.perpetualcc')
  const { task, attempt, branch, target, base, project } = row
  const text = `${JSON.stringify({ task, attempt, branch, target, base, project }, null, 2)}\n`
  try {
    // The repository may contain a link of that name, or one above it, which could lead anywhere.
    await using real = await openRealFolder(row.top, relative(row.top, folder), { make: true })
    if (!real) return 'no task.json: .perpetualcc is no directory there'
    await writeFile(real.at('task.json'), text, { flag: 'wx' })
    await excludeTaskFile(row.repository)
    return undefined
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EEXIST') return (await isOurs(folder, task)) ? undefined : 'no task.json: the project has one itself'
    return `no task.json: ${code ?? thrown}`
  }
}

async function isOurs(folder: string, task: string): Promise<boolean> {
  return ((await readTextIfAny(join(folder, 'task.json')).catch(() => '')) ?? '').includes(
    `"task": ${JSON.stringify(task)}`,
  )
}

/** The exclude list applies to all checkouts of the repository, so that only one line for one file is added, once. */
async function excludeTaskFile(repository: string): Promise<void> {
  await using info = await openRealFolder(repository, 'info', { make: true })
  // A link of that name is not followed.
  await using file = info && (await open(info.at('exclude'), EXTEND_PLAIN, 0o644).catch(unlessLink))
  if (!file || !(await file.stat()).isFile()) return
  const text = await file.readFile('utf8')
  if (text.split('\n').includes(TASK_FILE_PATTERN)) return
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  await file.appendFile(`${gap}# what pcc writes into its worktrees\n${TASK_FILE_PATTERN}\n`)
}

const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
const EXTEND_PLAIN = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK

function unlessLink(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ELOOP') throw thrown
}
