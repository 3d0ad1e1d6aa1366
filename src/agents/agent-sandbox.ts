import { openSandbox, type Sandbox } from '../base/sandbox/sandbox.ts'
import { NO_NEEDS, type SandboxNeeds } from '../base/sandbox/settings.ts'
import type { OpenSession } from '../domain/session.ts'

/** The sandbox of an agent's process; undefined if the session was admitted without one. */
export function openAgentSandbox(
  needs: SandboxNeeds = NO_NEEDS,
  { sandbox: settings, env, tools }: Pick<OpenSession, 'sandbox' | 'env' | 'tools'>,
  log: (line: string) => void,
): Sandbox | undefined {
  if (!settings?.made) return undefined
  return openSandbox({ bubblewrap: settings.made, settings, needs, env, log, reading: isReadOnlySession({ tools }) })
}

const READERS = new Set(['Read', 'Grep', 'Glob', 'LS', 'NotebookRead'])

/** Whether a session has a list of tools without any that writes. */
export function isReadOnlySession({ tools }: Pick<OpenSession, 'tools'>): boolean {
  return tools?.every(tool => READERS.has(tool)) ?? false
}
