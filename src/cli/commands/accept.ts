import { existsSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import {
  describeOutsideChange,
  isAccepted,
  type OwnFileChange,
  type RecordChange,
  readOwnFile,
} from '../../base/accepted-file.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError } from '../../base/errors.ts'
import { replaceFile } from '../../base/files.ts'
import { neutral } from '../../base/neutral.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { findClient, openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, isInteractive } from '../context.ts'
import type { Terminal } from '../render/text.ts'

/** `pcc accept`: shows what was changed in the person's settings, rules and trust outside pcc, and lets it count. */
export function addAcceptCommand(program: Command): void {
  program
    .command('accept')
    .description('See what was changed in your settings, rules and trust outside pcc, and accept it')
    .option('--yes', 'accept without being asked')
    .option('--restore', 'put the files back to what you accepted before')
    .option('--json', 'print JSON')
    .action(async (options: AcceptOptions, command: Command) => {
      const { refuseInSession } = await import('../options.ts')
      refuseInSession(process.env, 'accept')
      await acceptCommand(options, await commandContext(command))
    })
}

interface AcceptOptions {
  yes?: boolean
  restore?: boolean
}

async function acceptCommand({ yes = false, restore = false }: AcceptOptions, context: CommandContext): Promise<void> {
  const { json, out, paths, terminal } = context
  const changes = await findChanges(paths)
  const say = (line: string) => {
    if (!json) out(line)
  }
  if (changes.length === 0) say('Nothing was changed outside pcc.')
  else {
    for (const line of changes.flatMap(change => changeLines(change, terminal))) say(line)
    const { confirm } = await import('../input.ts')
    await confirm({
      action: restore ? 'Putting the files back' : 'Accepting these changes',
      question: restore ? 'Put these files back?' : 'Let these changes count?',
      yes,
    })
    if (restore) changes.forEach(restoreFile)
    else await acceptChanges(changes, context)
    say(restore ? 'The files are as you accepted them before.' : 'The changes count from now on.')
  }
  if (json) out(JSON.stringify({ files: changes.map(({ path }) => path), restored: restore }, null, 2))
}

/** A file of the person that somebody else changed. */
interface OutsideChange {
  path: string
  accepted: string
  found: string
  /** Why the new content cannot count. */
  error?: AppError
}

/** The person's files that are not as pcc wrote them or the person accepted them. */
export async function findChanges(paths: AppPaths): Promise<OutsideChange[]> {
  const { readAcceptedFiles } = await import('../../store/accepted-files.ts')
  const files = readAcceptedFiles(paths).filter(
    // A file that `--config` once named may be gone: then nobody uses it.
    ({ path }) => dirname(path) === paths.home || existsSync(path),
  )
  const changes: OutsideChange[] = []
  for (const file of files) {
    const { path, content: accepted } = file
    try {
      const found = readOwnFile(path)
      if (isAccepted(file, found)) continue
      const error = await findProblem(path, found, paths)
      changes.push({ path, accepted, found, ...(error && { error }) })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      changes.push({ path, accepted, found: '', error })
    }
  }
  return changes
}

async function findProblem(
  path: string,
  content: string,
  { trustFile, home }: AppPaths,
): Promise<AppError | undefined> {
  if (path === trustFile) return undefined
  const [{ checkConfigText }, { parseRules, userRulesFile }] = await Promise.all([
    import('../../domain/config/layers.ts'),
    import('../../policy/verdict/rules-file.ts'),
  ])
  try {
    if (path === userRulesFile({ home })) parseRules(path, content)
    else checkConfigText({ path, content, home: homedir() })
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/** Lets the changes count. Only a daemon can do that: it looks at who asks, and refuses an agent. */
async function acceptChanges(changes: OutsideChange[], { paths, env, quiet }: CommandContext): Promise<void> {
  for (const { error } of changes) if (error) throw error
  const client = await openClient(paths, { env, quiet })
  for (const { path, accepted, found } of changes) {
    for (const before of [accepted, found])
      await client.request('POST', '/accepted-files', { path, before, after: found })
  }
}

function restoreFile({ path, accepted }: OutsideChange): void {
  if (accepted === '') rmSync(path, { force: true })
  else replaceFile(path, accepted)
}

/** Records what pcc itself writes: through the daemon, which refuses an agent, or in the database while no daemon runs. */
export function recordWith(paths: AppPaths): RecordChange {
  return async (change: OwnFileChange) => {
    const client = await findClient(paths)
    if (client) {
      await client.request('POST', '/accepted-files', change).catch(error => {
        if (error.code !== 'not_found') throw error // a daemon of an older version has no record of the files
      })
      return
    }
    const { acceptWithoutDaemon } = await import('../../store/accepted-files.ts')
    if (!acceptWithoutDaemon(paths.database, change)) throw new AppError('file_changed', { file: change.path })
  }
}

/** Commands that work whatever the files say, that no person reads, or that are about the files themselves. */
const UNASKED = ['accept', 'completion', 'config reset', 'config path', 'daemon run', 'demo', 'mcp', 'simulate']

/** Before a command: shows what was changed outside pcc and asks whether it counts. Without a terminal, one line for each file says so. */
export async function meetChanges(command: Command): Promise<void> {
  const isUnasked = UNASKED.some(name => `${commandPath(command)} `.startsWith(`${name} `))
  if (isUnasked || process.env[sessionMarker('').name] !== undefined) return
  const context = await commandContext(command).catch(() => undefined) // the command itself reports what is wrong
  if (context) await mentionChanges(context, isInteractive(context))
}

/** Says which files were changed outside pcc, and asks a person who is there. */
export async function mentionChanges(context: CommandContext, canAsk = false): Promise<void> {
  const { note, paths, terminal } = context
  const changes = await findChanges(paths)
  if (changes.length === 0) return
  const broken = changes.filter(({ error }) => error)
  if (!canAsk || broken.length > 0) {
    for (const { path, error } of changes)
      note(neutral(`${describeOutsideChange(path)}${error ? ` (${error.message})` : ''}`))
    return
  }
  for (const line of changes.flatMap(change => changeLines(change, terminal))) note(line)
  const { agrees } = await import('../input.ts')
  if (await agrees('Let these changes count?')) await acceptChanges(changes, context)
  else note('What you accepted before stays in force. To put the files back: pcc accept --restore')
}

function commandPath(command: Command): string {
  const above = command.parent?.parent ? `${commandPath(command.parent)} ` : ''
  return command.parent ? `${above}${command.name()}` : ''
}

const CONTEXT_LINES = 2

/** A change for a person: its file, and the lines that differ. */
export function changeLines({ path, accepted, found, error }: OutsideChange, terminal: Terminal): string[] {
  const { line, lines } = differingLines(accepted, found, terminal)
  return [
    terminal.paint('bold', `${neutral(path)} was changed outside pcc${line === 1 ? '' : `, from line ${line}`}:`),
    ...lines,
    ...(error ? [terminal.paint('red', neutral(`It cannot count: ${error.message}`))] : []),
    '',
  ]
}

/** The lines that differ, with a few around them. Everything between the first and the last difference is shown. */
export function differingLines(before: string, after: string, { paint }: Terminal): { line: number; lines: string[] } {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const shorter = Math.min(old.length, now.length)
  let first = 0
  while (first < shorter && old[first] === now[first]) first++
  let last = 0
  while (last < shorter - first && old.at(-1 - last) === now.at(-1 - last)) last++
  const shown = (lines: string[]) => lines.map(line => neutral(line))
  const lines = [
    ...shown(old.slice(Math.max(0, first - CONTEXT_LINES), first)).map(line => `  ${line}`),
    ...shown(old.slice(first, old.length - last)).map(line => paint('red', `- ${line}`)),
    ...shown(now.slice(first, now.length - last)).map(line => paint('green', `+ ${line}`)),
    ...shown(now.slice(now.length - last, now.length - last + CONTEXT_LINES)).map(line => `  ${line}`),
  ]
  return { line: first + 1, lines }
}
