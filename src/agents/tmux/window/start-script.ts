import { join } from 'node:path'
import type { OpenSession } from '../../../domain/session.ts'
import { sourcesFor } from '../hooks/settings.ts'
import type { SeatFolder } from '../seat.ts'

export interface Launch {
  executable: string
  open: OpenSession
  vendorId: string
  settings: string
  /** The file that names our own server. */
  mcpConfig?: string | undefined
  appendPrompt: string
  env: Record<string, string>
}

/**
 * The command of the window: a script that nobody else can read and that is gone once it runs. Keys are in it, and would be seen
 * by everybody on the machine where they stood in a command line.
 */
export function startCommand(seat: SeatFolder, launch: Launch): string[] {
  // What no shell can name (an exported function, say) is left out: it would end the script.
  const named = Object.entries(launch.env).filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
  const exported = named.map(([name, value]) => `export ${name}=${quoted(value)}`)
  const command = [launch.executable, ...argumentsOf(launch)].map(quoted).join(' ')
  const script = seat.write(
    'start.sh',
    [
      'rm -f "$0"',
      `exec 2>${quoted(join(seat.path, 'stderr'))}`,
      // Elsewhere it must not begin.
      `cd -- ${quoted(launch.open.cwd)} || exit 1`,
      ...exported,
      `exec ${command}`,
      '',
    ].join('\n'),
  )
  // An environment of its own: what tmux puts into that of its windows would let the agent type into its own terminal.
  return ['/usr/bin/env', '-i', '/bin/sh', script]
}

function argumentsOf({ open, vendorId, settings, mcpConfig, appendPrompt }: Launch): string[] {
  const { resume, model, tools, disallowedTools, strictMcp } = open
  return [
    ...['--settings', settings, '--permission-mode', 'default', `--setting-sources=${sourcesFor(open).join(',')}`],
    ...['--append-system-prompt', appendPrompt],
    ...(resume ? ['--resume', resume.vendorId] : ['--session-id', vendorId]),
    ...(resume?.fork ? ['--fork-session', '--session-id', vendorId] : []),
    ...(model === undefined ? [] : ['--model', model]),
    ...(tools ? ['--tools', tools.join(',')] : []),
    ...(disallowedTools && disallowedTools.length > 0 ? ['--disallowedTools', disallowedTools.join(',')] : []),
    ...(mcpConfig === undefined ? [] : ['--mcp-config', mcpConfig]),
    ...(strictMcp ? ['--strict-mcp-config'] : []),
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
