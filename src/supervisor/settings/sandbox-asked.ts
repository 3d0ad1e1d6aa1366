import { dirname } from 'node:path'
import { sandboxNeeded } from '../../agents/sandbox/needed.ts'
import type { Places } from '../../base/places.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { SandboxAsked } from '../../domain/agents/sandbox.ts'
import type { Config } from '../../domain/config/config.ts'
import type { Place } from '../../domain/workspace/place.ts'
import { findGitFolder } from '../../workspace/git/git-folder.ts'

interface AskedFor {
  /** Nothing where the agent is held without one: what depends on the folder would keep a process that waits from being taken. */
  asked: SandboxAsked | undefined
  /** Whether the agent will really run in one. */
  stands: boolean
}

interface Where {
  manifest: Pick<AgentManifest, 'hold' | 'name'>
  project: string
  place: Place | undefined
  /** The daemon's own: nothing of them is shown. */
  places: Places
}

/**
 * The sandbox of a session by its settings. What a worktree shares with others is found from the project: what the worktree says of it,
 * its agent may have written. Refuses where one is required and there is none.
 */
export async function sandboxAsked({ agents }: Config, { manifest, project, place, places }: Where): Promise<AskedFor> {
  const { sandbox: mode, network, sandbox_read: read, sandbox_write: write } = agents
  if (manifest.hold === 'every-call') return { asked: undefined, stands: false }
  const made = await sandboxNeeded(manifest, mode)
  const git = mode === 'off' ? undefined : await gitOf(project, place)
  // A worktree's dependencies may be links into the project.
  const asked = { mode, network, read: place ? [...read, project] : read, write, hidden: ownFolders(places), git }
  // Looked at once: who is let in because a sandbox stands is not started without it, whatever a second look would say.
  return made ? { asked: { ...asked, mode: 'required', made }, stands: true } : { asked, stands: false }
}

/** Whoever reads its token and finds its socket can do all that the person can, wherever the data directory lies. */
function ownFolders({ home, data, run, logs, socket }: Places): string[] {
  return [...new Set([home, data, run, logs, dirname(socket)])]
}

async function gitOf(project: string, place: Place | undefined): Promise<SandboxAsked['git']> {
  const shared = await findGitFolder(project)
  if (!shared || !place) return shared
  const own = await findGitFolder(place.top)
  // One that says it belongs elsewhere was tampered with: nothing of the repository is its to write.
  if (!own?.own.startsWith(`${shared.common}/worktrees/`)) return undefined
  return { top: place.top, own: own.own, common: shared.common }
}
