import { link, mkdir, open, readFile, realpath, rm, rmdir, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { DOCUMENTS, type DocumentKind, MAX_DOCUMENT } from '../../domain/features/document.ts'

/** Where the files of a feature are. */
export interface FeatureHome {
  project: string
  name: string
}

/** The directory of a feature: the person's to edit and to commit. */
export function featureDirectory({ project, name }: FeatureHome): string {
  return join(project, '.perpetualcc', 'features', name)
}

export function documentPath(home: FeatureHome, kind: DocumentKind): string {
  return join(featureDirectory(home), `${kind}.md`)
}

/** The spec or the plan as it is now; undefined where there is none. Throws `feature_file` where it cannot be used. */
export async function readDocument(home: FeatureHome, kind: DocumentKind): Promise<string | undefined> {
  const path = documentPath(home, kind)
  const found = await stat(path).catch(() => undefined)
  if (!found) return undefined
  const refused = (problem: string) => new AppError('feature_file', { path, problem })
  if (!found.isFile()) throw refused('it is not a file')
  // A link in a project could bring any file of the machine into a prompt.
  if (!(await isInside(path, home.project))) throw refused('it lies outside of the project')
  if (found.size > MAX_DOCUMENT * 4) throw refused(TOO_LONG)
  const text = await readFile(path, 'utf8').catch(error => Promise.reject(refused(messageOf(error))))
  if (text.length > MAX_DOCUMENT) throw refused(TOO_LONG)
  return text.trim() === '' ? undefined : text
}

const TOO_LONG = `it is longer than ${MAX_DOCUMENT.toLocaleString('en')} characters`

/** Writes a document where there is none; what a person has written there meanwhile stays. False then. */
export async function writeDocument(home: FeatureHome, kind: DocumentKind, text: string): Promise<boolean> {
  const path = documentPath(home, kind)
  const directory = featureDirectory(home)
  try {
    await mkdir(directory, { recursive: true })
  } catch (error) {
    throw new AppError('feature_file', { path: directory, problem: messageOf(error) })
  }
  if (!(await isInside(directory, home.project)))
    throw new AppError('feature_file', { path, problem: 'it lies outside of the project' })
  const aside = join(directory, `.${kind}.${secretId(6)}.tmp`)
  try {
    await using file = await open(aside, 'wx', 0o644)
    await file.writeFile(text)
    await file.sync()
    // Whole or not at all, and never over another: a link fails where there is a file.
    await link(aside, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw new AppError('feature_file', { path, problem: messageOf(error) })
  } finally {
    await rm(aside, { force: true })
  }
}

/** Removes the spec and the plan of a feature, and its directory where nothing else is in it: other files are the person's. */
export async function removeDocuments(home: FeatureHome): Promise<void> {
  const directory = featureDirectory(home)
  if (!(await stat(directory).catch(() => undefined))) return
  if (!(await isInside(directory, home.project)))
    throw new AppError('feature_file', { path: directory, problem: 'it lies outside of the project' })
  for (const kind of DOCUMENTS) await rm(documentPath(home, kind), { force: true })
  await rmdir(directory).catch(() => undefined)
}

async function isInside(path: string, project: string): Promise<boolean> {
  const [real, root] = [await realpath(path), await realpath(project)]
  return real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
}
