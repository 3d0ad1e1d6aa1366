import { Argument, type Command } from 'commander'
import { dateTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { SessionView } from '../../domain/api.ts'
import type { CheckpointLine, CheckpointReason, CheckpointView } from '../../domain/checkpoint.ts'
import { openClient } from '../connection/client.ts'
import { sessionPath } from '../connection/connection.ts'
import { commandContext } from '../context.ts'
import { counted, fullCount, money } from '../render/format.ts'
import { cut, firstLine, pad, type Terminal, wrap } from '../render/text.ts'

/** `pcc checkpoints`: the checkpoints of a session, and the prompt with which it would go on from one. */
export function addCheckpointsCommand(program: Command): void {
  program
    .command('checkpoints')
    .description('List the checkpoints of a session, or show one with the prompt that the agent would get')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .addArgument(new Argument('[action]', 'show one checkpoint instead of the list').choices(['show']))
    .argument('[checkpoint]', 'its id or a unique beginning of it; the newest good one when absent')
    .option('--json', 'print JSON')
    .action(async (ref: string, action: string | undefined, id: string | undefined, _: unknown, command: Command) => {
      const { paths, json, out, terminal, ...context } = await commandContext(command)
      const client = await openClient(paths, context)
      const path = await sessionPath(ref)
      if (action === 'show') {
        const checkpointPath = `${path}/checkpoints/${encodeURIComponent(id ?? 'latest')}`
        const view = await client.request<CheckpointView>('GET', checkpointPath)
        if (json) return out(JSON.stringify(view, null, 2))
        return checkpointPage(view, terminal).forEach(out)
      }
      const reply = await client.request<{ checkpoints: CheckpointLine[] }>('GET', `${path}/checkpoints`)
      if (json) return out(JSON.stringify(reply, null, 2))
      const session = await client.request<SessionView>('GET', path)
      checkpointTable(reply.checkpoints, { session: session.id, terminal }).forEach(out)
    })
}

const REASON_TEXT: Record<CheckpointReason, string> = {
  limit: 'limit',
  pause: 'paused',
  park: 'waits for you',
  shutdown: 'stopped',
  interval: 'by the clock',
  capped: 'turns used up',
  error: 'error',
}

/** The list of `pcc checkpoints`, newest first. */
export function checkpointTable(
  lines: CheckpointLine[],
  { session, terminal }: { session: string; terminal: Terminal },
): string[] {
  if (lines.length === 0) {
    return ['No checkpoints. One is written at each limit, pause, wait for a person and stop, and every few minutes.']
  }
  const width = Math.max(...lines.map(({ id }) => id.length))
  return [
    ...lines.flatMap(line => [
      pad(line.id, width) + summaryText(line, terminal, width),
      ...nextActionLines(line, terminal, width),
    ]),
    '',
    terminal.paint('dim', `Show one with: pcc checkpoints ${session} show <id>`),
    terminal.paint('dim', `Go on from one with: pcc resume ${session} --from <id>`),
  ]
}

function summaryText(line: CheckpointLine, terminal: Terminal, width: number): string {
  if ('problem' in line) {
    return `  ${terminal.paint('red', cut(`cannot be used: ${firstLine(line.problem)}`, terminal.width - width - 2))}`
  }
  const { completed, pending, files, decisions } = line
  const counts = [`✓ ${completed}`, `○ ${pending}`, counted(files, 'file'), counted(decisions, 'decision')].join('  ')
  return `  ${dateTime(line.timestamp)}  ${pad(REASON_TEXT[line.reason], 13)}  ${counts}`
}

function nextActionLines(line: CheckpointLine, terminal: Terminal, width: number): string[] {
  if ('problem' in line) return []
  const text = cut(`→ ${firstLine(line.next_action)}`, terminal.width - width - 2)
  return [terminal.paint('dim', `${' '.repeat(width + 2)}${text}`)]
}

/** One checkpoint, with the prompt that a new conversation would get. */
export function checkpointPage({ id, checkpoint, changed, prompt }: CheckpointView, terminal: Terminal): string[] {
  const field = (name: string, value: string) => `${`${name}:`.padEnd(13)}${neutral(value)}`
  const { tokens, reason } = checkpoint
  const contextText =
    tokens.context === 0 ? '–' : `${fullCount(tokens.context)} / ${fullCount(tokens.window)} in context`
  return [
    terminal.paint('bold', `Checkpoint: ${id}`),
    terminal.paint('dim', '─'.repeat(Math.min(38, terminal.width))),
    field('Session', checkpoint.session_id),
    field('Written', `${dateTime(checkpoint.timestamp)} (${REASON_TEXT[reason]})`),
    field('Project', checkpoint.project_path),
    field('Resume id', checkpoint.vendor_id ?? '–'),
    field('Tokens', contextText),
    field('Cost', money(checkpoint.cost_usd)),
    field('Files', describeFiles(checkpoint.modified_files.length, changed.length)),
    ...changed.map(({ path, how }) => terminal.paint('yellow', `  ${firstLine(path.replaceAll('\n', '⏎'))} (${how})`)),
    '',
    terminal.paint('bold', 'What a new conversation would be told:'),
    ...wrap(neutral(prompt), terminal.width - 2).map(line => `  ${line}`),
  ]
}

function describeFiles(modified: number, changed: number): string {
  return `${modified} modified${changed === 0 ? ', none changed since' : `, ${changed} changed since:`}`
}
