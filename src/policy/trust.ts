import { realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Clock, systemClock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { Places } from '../base/places.ts'
import { shellWord } from '../base/shell-word.ts'
import { type Checkout, filesToTrust, filesToTrustIn } from './trust/files.ts'
import { differences, hashesOf, hashOver, sha256 } from './trust/hash.ts'
import type { TrustStatus } from './trust/status.ts'

export { type LoadableSources, settingSourcesFor } from './trust/setting-sources.ts'
export type { TrustStatus }

/** What a project brings in and whether a person has agreed to it as it is now. */
export async function trustStatus(places: Places, directory: string): Promise<TrustStatus> {
  const project = await projectAt(directory)
  const files = await filesToTrust(places, project)
  if (files.length === 0) return { project, state: 'nothing-to-trust', files, changed: [] }
  const { agreementFor } = await record()
  const agreed = agreementFor(places, project)
  if (!agreed) return { project, state: 'untrusted', files, changed: [] }
  const changed = differences(agreed.files, hashesOf(files))
  const holds = agreed.hash === hashOver(files) && files.every(file => !file.refused)
  return { project, state: holds ? 'trusted' : 'changed', files, changed, since: agreed.since }
}

/**
 * What an agent would load in a worktree of a project, and whether a person has agreed to each file of it, with the very content, for
 * the project: what another agent has committed there since is not. A file that the worktree lacks is nothing to agree to.
 */
export async function trustStatusIn(
  places: Places,
  { project: path, ...checkout }: Checkout & { project: string },
): Promise<TrustStatus> {
  const project = await projectAt(path)
  const files = await filesToTrustIn(places, { project, ...checkout })
  if (files.length === 0) return { project, state: 'nothing-to-trust', files, changed: [] }
  const { agreementFor } = await record()
  const agreed = agreementFor(places, project)
  if (!agreed) return { project, state: 'untrusted', files, changed: [] }
  const changed = files.filter(file => file.refused || agreed.files[file.path] !== file.sha256).map(file => file.path)
  return { project, state: changed.length === 0 ? 'trusted' : 'changed', files, changed, since: agreed.since }
}

/** Whether whatever the project brings in may take effect. */
export async function isTrusted(places: Places, directory: string): Promise<boolean> {
  const { state } = await trustStatus(places, directory)
  return state === 'trusted' || state === 'nothing-to-trust'
}

/** Keeps a person's yes to what `shown` listed; refused when the files are no longer those. */
export async function grantTrust(places: Places, shown: TrustStatus, clock: Clock = systemClock): Promise<void> {
  const refused = shown.files.find(file => file.refused)
  if (refused?.refused) {
    throw new AppError('trust_refused', { path: refused.path, project: shown.project, ...refused.refused })
  }
  const now = await filesToTrust(places, shown.project)
  const moved = differences(hashesOf(shown.files), hashesOf(now))
  if (moved.length > 0)
    throw new AppError('trust_changed', { project: shellWord(shown.project), files: moved.join(', ') })
  const agreement = { hash: hashOver(now), since: clock.now(), files: hashesOf(now) }
  const { keepAgreement } = await record()
  keepAgreement(places, shown.project, agreement)
}

/** Takes a yes back, also for a project that is gone; false when there was none. */
export async function revokeTrust(places: Places, directory: string): Promise<boolean> {
  const { keepAgreement } = await record()
  const gone = await realpath(directory).then(
    () => false,
    () => true,
  )
  if (gone && keepAgreement(places, resolve(directory), undefined)) return true
  return keepAgreement(places, await projectAt(directory), undefined)
}

/** For `loadConfig`: yes to a project file only with the very content that was agreed to. */
export function trustedFile(status: TrustStatus): (file: { path: string; content: string }) => boolean {
  const agreed = new Set(
    status.files.filter(file => file.kind === 'pcc' || file.kind === 'rules').map(file => file.sha256),
  )
  return ({ content }) => status.state === 'trusted' && agreed.has(sha256(content))
}

/** Imported on use: most projects bring nothing in, and then nobody looks at what was agreed to. */
function record() {
  return import('./trust/record.ts')
}

async function projectAt(directory: string): Promise<string> {
  const here = await stat(directory).catch(() => undefined)
  if (!here) throw new AppError('project_missing', { path: directory })
  if (!here.isDirectory()) throw new AppError('project_not_directory', { path: directory })
  return realpath(directory)
}
