import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { type RecordChange, replaceOwnFile } from '../../base/accepted-file.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { whileLocked } from '../../base/files.ts'

const Agreement = z.object({
  /** A hash over the sorted paths and contents of all files. */
  hash: z.string(),
  since: z.number(),
  /** Path in the project → hash of its content, to tell which file changed. */
  files: z.record(z.string(), z.string()),
})
export type Agreement = z.infer<typeof Agreement>

const TrustFile = z.object({ version: z.literal(1), projects: z.record(z.string(), Agreement) })

/** A person's agreement for one project, by its real path. */
export async function agreementFor({ trustFile, accepted }: AppPaths, project: string): Promise<Agreement | undefined> {
  const onDisk = readText(trustFile)
  const inForce = accepted ? await accepted.inForce(trustFile, onDisk ?? '') : onDisk
  const { projects } = parseTrust(trustFile, inForce === '' && onDisk !== '' ? undefined : inForce)
  return Object.hasOwn(projects, project) ? projects[project] : undefined
}

/** Writes the agreement for one project, or removes it with `undefined`; returns whether there was one before. */
export function keepAgreement(
  { trustFile }: AppPaths,
  { project, agreement }: { project: string; agreement?: Agreement },
  record?: RecordChange,
): Promise<boolean> {
  return whileLocked(`${trustFile}.lock`, async () => {
    const before = readText(trustFile)
    const file = parseTrust(trustFile, before)
    const { [project]: agreed, ...others } = file.projects
    if (!agreed && !agreement) return false
    const projects = agreement ? { ...others, [project]: agreement } : others
    const after = `${JSON.stringify({ ...file, projects }, null, 2)}\n`
    await replaceOwnFile({ path: trustFile, before: before ?? '', after }, record)
    return agreed !== undefined
  })
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new AppError('trust_file_invalid', { file, problem: messageOf(thrown) }, thrown)
  }
}

function parseTrust(file: string, text: string | undefined): z.infer<typeof TrustFile> {
  if (text === undefined) return { version: 1, projects: {} }
  try {
    return TrustFile.parse(JSON.parse(text))
  } catch (thrown) {
    const problem = thrown instanceof z.ZodError ? z.prettifyError(thrown).replaceAll('\n', ' ') : messageOf(thrown)
    throw new AppError('trust_file_invalid', { file, problem }, thrown)
  }
}
