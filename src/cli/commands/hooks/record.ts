import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { type AppPaths, hookRecord } from '../../../base/app-paths.ts'
import { AppError, messageOf } from '../../../base/errors.ts'
import { replaceFile } from '../../../base/files.ts'
import { HOOK_VENDORS } from '../../../domain/hooks.ts'

const InstalledFile = z.object({
  vendor: z.enum(HOOK_VENDORS),
  scope: z.enum(['user', 'project']),
  path: z.string(),
  /** The name of the copy of the file as it was without our hooks; null if there was no file. */
  backup: z.string().nullable(),
  /** The hash of the file with our hooks, as we wrote it. */
  after: z.string(),
  /** Folders that were made for the file, the deepest first. */
  folders: z.array(z.string()),
})
export type InstalledFile = z.infer<typeof InstalledFile>

const Installed = z.object({
  version: z.literal(1),
  /** `--config` and `--data-dir`, if they were given. */
  place: z.object({ config: z.string().optional(), data: z.string().optional() }).default({}),
  files: z.array(InstalledFile),
})
export type Installed = z.infer<typeof Installed>

/** What was added to which settings, so that exactly that can be removed. */
export function readInstalled(paths: Pick<AppPaths, 'home'>): Installed {
  const file = hookRecord(paths)
  try {
    return Installed.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return { version: 1, place: {}, files: [] }
    const problem = thrown instanceof z.ZodError ? 'it is not as pcc wrote it' : messageOf(thrown)
    throw new AppError('hooks_record', { file, problem }, thrown)
  }
}

export function writeInstalled(paths: Pick<AppPaths, 'home'>, installed: Installed): void {
  replaceFile(hookRecord(paths), `${JSON.stringify(installed, null, 2)}\n`)
}

/** Keeps the bytes of a file; the name says which. */
export function keepBackup(paths: Pick<AppPaths, 'home'>, bytes: Buffer): string {
  const name = hashOf(bytes)
  const file = backupFile(paths, name)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  replaceFile(file, bytes)
  return name
}

export function readBackup(paths: Pick<AppPaths, 'home'>, name: string): Buffer | undefined {
  try {
    const bytes = readFileSync(backupFile(paths, name))
    return hashOf(bytes) === name ? bytes : undefined
  } catch {
    return undefined // without the copy, our hooks are taken out of the file as it is
  }
}

export function dropBackup(paths: Pick<AppPaths, 'home'>, name: string | null): void {
  if (name !== null) rmSync(backupFile(paths, name), { force: true })
}

function backupFile({ home }: Pick<AppPaths, 'home'>, name: string): string {
  return join(home, 'hooks', 'backups', name)
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
