import { AppError } from '../base/errors.ts'
import { openSandbox, type Sandbox } from '../base/sandbox/sandbox.ts'
import { NO_NEEDS, type SandboxNeeds } from '../base/sandbox/settings.ts'
import type { OpenSession } from '../domain/session.ts'
import { conversationsOf } from './claude/past-sessions.ts'

/** The sandbox of an agent's process; undefined if the session was admitted without one. */
export function openAgentSandbox(
  needs: SandboxNeeds = NO_NEEDS,
  open: Pick<OpenSession, 'sandbox' | 'env' | 'tools' | 'readsOnly' | 'cwd' | 'strictMcp'>,
  log: (line: string) => void,
): Sandbox | undefined {
  const { sandbox: settings, env, tools, readsOnly } = open
  if (!settings?.made) {
    if (settings?.mode !== 'required') return undefined
    const missing = { problem: 'the session was prepared without one', install: 'Start it again.' }
    throw new AppError('sandbox_missing', { agent: 'The agent', ...missing })
  }
  const reading = isReadOnlySession({ tools, readsOnly })
  return openSandbox({ bubblewrap: settings.made, settings, needs: needsOf(needs, open), env, log, reading })
}

/** Claude Code shortens longer names in a way of its own: such conversations disappear with the sandbox. */
const LONGEST_NAME = 200

/**
 * What an agent needs in one session: of all its conversations only those of its directory, because others are of other projects, and no
 * keys of servers that are not started.
 */
export function needsOf(needs: SandboxNeeds, { cwd, strictMcp }: Pick<OpenSession, 'cwd' | 'strictMcp'>): SandboxNeeds {
  if (!needs.folder) return needs
  const { writable, readOnly, copied } = needs.folder
  const name = conversationsOf(cwd)
  const here = (names: readonly string[]) =>
    names
      .filter(each => name.length <= LONGEST_NAME || !each.includes('{project}'))
      .map(each => each.replace('{project}', name))
  const folder = { ...needs.folder, writable: here(writable), readOnly: here(readOnly) }
  return {
    ...needs,
    folder: { ...folder, ...(copied && { copied: { ...copied, without: strictMcp ? ['mcpServers'] : [] } }) },
  }
}

/** A line for the system prompt of an agent in a sandbox, so that it does not search for what is not there. */
const SANDBOX_LINE =
  'You work in a sandbox: only the project and /tmp can be written, of the home directory you see little more than programs, and there is no docker, no ssh key and no login of the person. If the task needs one of these, say so in your report.'

/** The instructions for an agent: ours, what its sandbox means, then the person's addition. */
export function withSandboxLine(
  ours: string,
  { open, more }: { open: Pick<OpenSession, 'sandbox'>; more: string | undefined },
): string {
  return [open.sandbox ? `${ours}\n- ${SANDBOX_LINE}` : ours, ...(more ? [more] : [])].join('\n\n')
}

const READERS = new Set(['Read', 'Grep', 'Glob', 'LS', 'NotebookRead', 'AskUserQuestion'])

/** Whether a session is to read only, or has a list of tools without any that writes. */
export function isReadOnlySession({ tools, readsOnly }: Pick<OpenSession, 'tools' | 'readsOnly'>): boolean {
  return readsOnly === true || (tools?.every(tool => READERS.has(tool)) ?? false)
}
