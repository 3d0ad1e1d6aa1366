import { AppError } from '../base/errors.ts'
import type { AgentChoice } from '../domain/agent-choice.ts'
import type { AgentManifest } from '../domain/agent-manifest.ts'
import type { SessionHost } from '../domain/option-values.ts'
import type { Driver } from '../domain/session.ts'
import type { AcpDriverOptions } from './acp/driver.ts'
import { findManifest, isAgentKind, MANIFESTS } from './manifests/manifests.ts'
import type { TmuxHost } from './tmux/driver.ts'

/** Which driver a session needs. */
export interface DriverRequest {
  agent: AgentChoice
  /** The claude program of the settings (`agents.path`). */
  executable?: string | undefined
  appendPrompt?: string | undefined
  /** Where its process lives; our own child without it. */
  host?: SessionHost | undefined
}

export interface Drivers extends AsyncDisposable {
  /** The driver of an agent: one for each way of starting it, made on first use. */
  get(wanted: DriverRequest): Promise<Driver>
}

/** Drivers by what was chosen. A vendor's library is 37 MB that an idle daemon saves. */
export function openDrivers(log: (line: string) => void, hosts: { tmux?: TmuxHost } = {}): Drivers {
  const drivers = new Map<string, Promise<Driver>>()
  return {
    get(wanted) {
      const key = JSON.stringify(wanted)
      const found = drivers.get(key) ?? (wanted.host ? hostedDriver(wanted, log, hosts) : driverOf(wanted, log))
      drivers.set(key, found)
      // One that could not be made is tried again by the next session.
      found.catch(() => drivers.delete(key))
      return found
    },
    async [Symbol.asyncDispose]() {
      const opened = await Promise.allSettled(drivers.values())
      await Promise.allSettled(opened.map(one => (one.status === 'fulfilled' ? one.value.close() : undefined)))
    },
  }
}

function driverOf({ agent, executable, appendPrompt }: DriverRequest, log: (line: string) => void): Promise<Driver> {
  const manifest = findManifest(agent)
  if (manifest.speaks === 'sdk')
    return driverFor(manifest, { executable: agent.command?.[0] ?? executable, appendPrompt, log })
  // The words of a custom agent stand in its manifest.
  const command = agent.kind === 'custom' ? undefined : agent.command
  return driverFor(manifest, { log, appendPrompt, ...(command && { command }) })
}

/** Claude Code alone tells by its hooks what it does in a terminal. */
async function hostedDriver(
  { agent, executable, appendPrompt }: DriverRequest,
  log: (line: string) => void,
  { tmux }: { tmux?: TmuxHost },
): Promise<Driver> {
  if (agent.kind !== 'claude' || !tmux) {
    const problem = 'only Claude Code tells by its hooks what it does there'
    throw new AppError('host_cannot', { agent: findManifest(agent).name, problem })
  }
  const { tmuxDriver } = await import('./tmux/driver.ts')
  return tmuxDriver(tmux, { executable: agent.command?.[0] ?? executable, appendPrompt, log })
}

/** The driver of an agent by its kind. */
export async function openDriver(kind: string, options: AcpDriverOptions = {}): Promise<Driver> {
  if (!isAgentKind(kind)) throw new AppError('usage', { problem: `There is no agent "${kind}".`, command: 'start' })
  return driverFor(MANIFESTS[kind], options)
}

/** A vendor's library is imported here, on use. */
async function driverFor(manifest: AgentManifest, options: AcpDriverOptions): Promise<Driver> {
  switch (manifest.speaks) {
    case 'sdk': {
      const { claudeDriver } = await import('./claude/driver.ts')
      return claudeDriver(options)
    }
    case 'acp': {
      const { acpDriver } = await import('./acp/driver.ts')
      return acpDriver(manifest, options)
    }
    case 'app-server': {
      const { codexDriver } = await import('./codex/driver.ts')
      return codexDriver(options)
    }
  }
}
