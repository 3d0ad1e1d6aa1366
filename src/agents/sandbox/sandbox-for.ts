import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import { isReadOnly } from '../reads-only.ts'
import { sandboxNeeded } from './needed.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'

/** The sandbox that an agent is started in, where its manifest and the settings ask for one. */
export async function sandboxFor(
  manifest: AgentManifest,
  { sandbox: asked, env, tools }: Pick<OpenSession, 'sandbox' | 'env' | 'tools'>,
  log: (line: string) => void,
): Promise<Sandbox | undefined> {
  const bubblewrap = asked?.made ?? (asked && (await sandboxNeeded(manifest, asked.mode)))
  if (!asked || !bubblewrap) return undefined
  const needs = manifest.sandbox ?? { state: [], hosts: [], addresses: [] }
  return openSandbox({ bubblewrap, asked, needs, env, log, reading: isReadOnly({ tools }) })
}
