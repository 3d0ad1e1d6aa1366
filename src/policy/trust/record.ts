import { readFileSync } from 'node:fs'
import * as z from 'zod'
import type { AppPaths } from '../../base/app-paths.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { replaceFile, withFileLock } from '../../base/files.ts'

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
export function agreementFor(paths: AppPaths, project: string): Agreement | undefined {
  const { projects } = readTrustFile(paths.trustFile)
  return Object.hasOwn(projects, project) ? projects[project] : undefined
}

/** Writes the agreement for one project, or removes it with `undefined`; returns whether there was one before. */
export function keepAgreement(paths: AppPaths, project: string, agreement: Agreement | undefined): boolean {
  return withFileLock(`${paths.trustFile}.lock`, () => {
    const file = readTrustFile(paths.trustFile)
    const { [project]: before, ...others } = file.projects
    if (!before && !agreement) return false
    const projects = agreement ? { ...others, [project]: agreement } : others
    replaceFile(paths.trustFile, `${JSON.stringify({ ...file, projects }, null, 2)}\n`)
    return before !== undefined
  })
}

function readTrustFile(file: string): z.infer<typeof TrustFile> {
  try {
    return TrustFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return { version: 1, projects: {} }
    const problem = thrown instanceof z.ZodError ? z.prettifyError(thrown).replaceAll('\n', ' ') : messageOf(thrown)
    throw new AppError('trust_file_invalid', { file, problem }, thrown)
  }
}
