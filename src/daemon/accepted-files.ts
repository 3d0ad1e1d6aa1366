import { join } from 'node:path'
import {
  type AcceptedContents,
  type AcceptedFile,
  describeOutsideChange,
  isAccepted,
  type OwnFileChange,
  readOwnFile,
} from '../base/accepted-file.ts'
import type { AppPaths } from '../base/app-paths.ts'
import { AppError } from '../base/errors.ts'
import { userRulesFile } from '../policy/verdict/rules-file.ts'
import { readAcceptedFiles } from '../store/accepted-files.ts'
import type { Store } from '../store/store.ts'

export interface AcceptedFiles {
  readonly contents: AcceptedContents
  /** Accepts the person's files as they are, unless they are known. Called once the settings have proved valid. */
  beginAll(): Promise<void>
  /** Records a change by pcc, or one that the person has seen. Throws if it is based on content that does not count. */
  accept(change: OwnFileChange): Promise<void>
}

interface AcceptedFilesDeps {
  store: Pick<Store, 'acceptedFiles'>
  paths: AppPaths
  warn(text: string): void
}

/**
 * Keeps which content of the person's settings, rules and trust is in force. An agent runs as the person and can write those files;
 * what it writes counts only after the person has seen it. Decisions use the copy in memory, which follows the store.
 */
export async function openAcceptedFiles({ store, paths, warn }: AcceptedFilesDeps): Promise<AcceptedFiles> {
  const known = new Map<string, AcceptedFile>()
  const changed = new Map<string, string>()
  const load = async () => {
    for (const file of await store.acceptedFiles.list()) known.set(file.path, file)
  }
  const begin = async (file: AcceptedFile) => {
    if (known.has(file.path)) return
    known.set(file.path, file)
    await store.acceptedFiles.begin(file)
  }
  await load()
  if (known.size === 0) for (const file of readAcceptedFiles(paths)) await begin(file)

  const inForce = (path: string, onDisk: string) => {
    const file = known.get(path)
    if (!file) return onDisk
    if (isAccepted(file, onDisk)) {
      changed.delete(path)
      file.content = onDisk
      return onDisk
    }
    if (changed.get(path) !== onDisk) warn(describeOutsideChange(path))
    changed.set(path, onDisk)
    return file.content
  }
  return {
    contents: {
      inForce,
      begin: (path, content) => {
        begin({ path, content, next: null }).catch(error => warn(`the content of ${path} is not recorded: ${error}`))
      },
      notes: () => [...changed.keys()].map(describeOutsideChange),
    },
    async beginAll() {
      const own = [paths.configFile, join(paths.home, 'config.toml'), userRulesFile(paths), paths.trustFile]
      for (const path of own) await begin({ path, content: readForStart(path), next: null })
    },
    async accept(change) {
      if (!(await store.acceptedFiles.accept(change))) throw new AppError('file_changed', { file: change.path })
      await load()
    },
  }
}

/** A file that cannot be read counts as absent until the person accepts it. */
function readForStart(path: string): string {
  try {
    return readOwnFile(path)
  } catch {
    return ''
  }
}
