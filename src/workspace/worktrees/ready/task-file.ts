import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worktree } from '../../../domain/workspace/place.ts'

/** The one file of ours in a worktree, as a pattern of git: specs and notes beside it are the person's, and are seen. */
const PATTERN = '**/.perpetualcc/task.json'

/**
 * Writes down in the worktree whose it is, for whoever finds it there, and keeps that one file out of the project's history.
 * Gives why not, where the project has something of that name itself.
 */
export async function writeTaskFile(row: Worktree): Promise<string | undefined> {
  const folder = join(row.directory, '.perpetualcc')
  const { task, attempt, branch, target, base, project } = row
  const text = `${JSON.stringify({ task, attempt, branch, target, base, project }, null, 2)}\n`
  try {
    await mkdir(folder, { recursive: true })
    // A link of the repository's own could lead anywhere.
    if (!(await lstat(folder)).isDirectory()) return 'no task.json: .perpetualcc is no directory there'
    await writeFile(join(folder, 'task.json'), text, { flag: 'wx' })
    await exclude(row.repository)
    return undefined
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EEXIST') return (await isOurs(folder, task)) ? undefined : 'no task.json: the project has one itself'
    return `no task.json: ${code ?? thrown}`
  }
}

async function isOurs(folder: string, task: string): Promise<boolean> {
  return (await readFile(join(folder, 'task.json'), 'utf8').catch(() => '')).includes(`"task": ${JSON.stringify(task)}`)
}

/** This list belongs to the whole repository, all its checkouts included: one line for one file, once. */
async function exclude(repository: string): Promise<void> {
  const file = join(repository, 'info', 'exclude')
  const stats = await lstat(file).catch(() => undefined)
  if (stats && !stats.isFile()) return
  const text = stats ? await readFile(file, 'utf8') : ''
  if (text.split('\n').includes(PATTERN)) return
  await mkdir(join(repository, 'info'), { recursive: true })
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  await writeFile(file, `${gap}# what pcc writes into its worktrees\n${PATTERN}\n`, { flag: 'a' })
}
