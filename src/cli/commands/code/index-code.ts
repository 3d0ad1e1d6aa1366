import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { neutral } from '../../../base/neutral.ts'
import type { UpdateProgress } from '../../../knowledge/index/update.ts'
import { openClient } from '../../connection/client.ts'
import type { DaemonConnection } from '../../connection/connection.ts'
import { type CommandContext, commandContext } from '../../context.ts'
import { refuseInSession } from '../../options.ts'
import { counted } from '../../render/format.ts'
import type { Terminal } from '../../render/text.ts'

/** What `POST /code/index` replies. */
export interface IndexedCode {
  project: string
  commit: string | null
  dirty_files: number
  files: number
  read: number
  removed: number
  modules: number
  functions: number
  chunks: number
  embedded: number
  problems: { path: string; problem: string }[]
  /** Said once: why words alone decide. */
  note?: string
}

/** `pcc index`: brings the index of a project's code up to date. */
export function addIndexCommand(program: Command): void {
  program
    .command('index')
    .description('Bring the index of a project’s code up to date; searches and sessions do so themselves')
    .argument('[path]', 'the project directory', '.')
    .option('--rebuild', 'forget the index and read everything again')
    .option('--json', 'print JSON')
    .action(async (path: string, { rebuild }: { rebuild?: true }, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'index …')
      const client = await openClient(context.paths, context)
      const indexed = await indexCode({ project: resolve(path), rebuild: rebuild === true }, client, context)
      if (context.json) return context.out(JSON.stringify(indexed, null, 2))
      for (const line of indexLines(indexed, context.terminal)) context.out(line)
    })
}

/** Indexes a project, with a bar that shows how far it is. */
export async function indexCode(
  wanted: { project: string; rebuild?: boolean },
  client: DaemonConnection,
  context: Pick<CommandContext, 'json' | 'quiet'>,
): Promise<IndexedCode> {
  const work = client.request<IndexedCode>('POST', '/code/index', wanted)
  await showWhile(work, () => readProgress(wanted.project, client), context)
  return work
}

/** Shows the progress of a search that has to index first, or of an index; on a terminal only. */
export async function showWhile(
  work: Promise<unknown>,
  progress: () => Promise<UpdateProgress | null>,
  { json, quiet }: Pick<CommandContext, 'json' | 'quiet'>,
): Promise<void> {
  if (process.stderr.isTTY !== true || json || quiet) return
  const over = new AbortController()
  void work.then(
    () => over.abort(),
    () => over.abort(),
  )
  let isDrawn = false
  while (!over.signal.aborted) {
    await sleep(BAR_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined)
    const now = over.signal.aborted ? null : await progress().catch(() => null) // the work itself says what is wrong
    if (!now || over.signal.aborted) continue
    process.stderr.write(`\r\x1b[K${progressBar(now)}`)
    isDrawn = true
  }
  if (isDrawn) process.stderr.write('\r\x1b[K')
}

const BAR_EVERY_MS = 150
const BAR_WIDTH = 30

/** `Indexing ██████░░░░ 412/1977 files` */
export function progressBar({ done, total }: UpdateProgress): string {
  const filled = total === 0 ? BAR_WIDTH : Math.round((done / total) * BAR_WIDTH)
  return `Indexing ${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${done}/${counted(total, 'file')}`
}

export async function readProgress(project: string, client: DaemonConnection): Promise<UpdateProgress | null> {
  const query = new URLSearchParams({ project })
  return (await client.request<{ progress: UpdateProgress | null }>('GET', `/code/index?${query}`)).progress
}

/** What is in the index now. */
export function indexLines(indexed: IndexedCode, terminal: Terminal): string[] {
  const { files, read, removed, modules, functions, chunks, embedded, problems, note } = indexed
  const tick = terminal.paint('green', '✓')
  const changes = [...(read > 0 ? [`${read} read`] : []), ...(removed > 0 ? [`${removed} removed`] : [])]
  return [
    `${tick} Scanned the project: ${counted(files, 'file')}, ${changes.join(', ') || 'nothing changed'}`,
    `${tick} Built the code graph: ${counted(modules, 'module')}, ${counted(functions, 'function')}`,
    `${tick} Indexed the code: ${counted(chunks, 'chunk')}${embedded > 0 ? `, ${embedded} of them embedded` : ''}`,
    ...problems
      .slice(0, MOST_PROBLEMS)
      .map(
        ({ path, problem }) =>
          `${terminal.paint('yellow', '!')} ${neutral(path)} is found by its lines only: ${neutral(problem)}`,
      ),
    ...(problems.length > MOST_PROBLEMS
      ? [`  and ${counted(problems.length - MOST_PROBLEMS, 'more file')} that could not be parsed`]
      : []),
    ...(note === undefined ? [] : [terminal.paint('dim', neutral(note))]),
  ]
}

const MOST_PROBLEMS = 5
