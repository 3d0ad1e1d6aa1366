import { AppError } from '../base/errors.ts'
import { openSandbox, type Sandbox } from '../base/sandbox/sandbox.ts'
import { NO_NEEDS, type SandboxNeeds } from '../base/sandbox/settings.ts'
import type { OpenSession } from '../domain/session.ts'

/** The sandbox of an agent's process; undefined if the session was admitted without one. */
export function openAgentSandbox(
  needs: SandboxNeeds = NO_NEEDS,
  { sandbox: settings, env, tools, readsOnly }: Pick<OpenSession, 'sandbox' | 'env' | 'tools' | 'readsOnly'>,
  log: (line: string) => void,
): Sandbox | undefined {
  if (!settings?.made) {
    if (settings?.mode !== 'required') return undefined
    const missing = { problem: 'the session was prepared without one', install: 'Start it again.' }
    throw new AppError('sandbox_missing', { agent: 'The agent', ...missing })
  }
  const reading = isReadOnlySession({ tools, readsOnly })
  return openSandbox({ bubblewrap: settings.made, settings, needs, env, log, reading })
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
