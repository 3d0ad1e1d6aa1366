import { dirname } from 'node:path'
import type { ProgramCall } from '../classify/call.ts'
import { staysInSandbox } from '../classify/judge-file.ts'
import { readArchive, readPatch, type WrittenNames } from '../paths/archive-names.ts'
import { type FoundFile, locatePath } from '../paths/fence.ts'
import { judgePath } from '../paths/judge-path.ts'
import { type Arg, deriveArg } from '../shell/args.ts'
import { comesFromNetwork } from './run-code.ts'

// Programs that write the files that another file names: a patch, an archive, a folder that is copied.

interface PatchCall {
  /** The files with patches; with none, the patch is the input. */
  files: readonly Arg[]
  /** The folder that the names are relative to. */
  folder: Arg | undefined
  /** How many folders are taken off the names; `undefined` for all of them, or as many as fit. */
  strip: number | undefined
}

/** Judges the files that patches write. A patch that cannot be read before it is applied is left to a person. */
export function judgePatch(call: ProgramCall, { files, folder, strip }: PatchCall): undefined {
  if (comesFromNetwork(call)) call.say('net.run', 'HIGH', 'a patch from the network is applied unseen')
  const { text, file, upstream } = call.feed
  const sources = files.length > 0 ? files : file ? [file] : []
  for (const source of sources) {
    const found = lookAt(call, source)
    const patch = found?.is === 'file' ? readPatch(found.bytes.toString('utf8')) : undefined
    judgeNames(call, { written: patch, at: source, folder, spell: name => stripPatchName(name, strip) })
  }
  if (sources.length > 0) return
  const fed = text ?? upstream?.findLast(program => program.text !== undefined)?.text
  const at = fed ?? call.head
  const patch = fed?.known ? readPatch(fed.value) : undefined
  judgeNames(call, { written: patch, at, folder, spell: name => stripPatchName(name, strip) })
}

function stripPatchName(name: string, strip: number | undefined): string[] {
  const parts = name.split(/\/+/)
  if (strip !== undefined) return [parts.slice(Math.min(strip, parts.length - 1)).join('/')]
  return [name, parts.slice(1).join('/'), parts.at(-1) ?? name].filter(part => part !== '')
}

/** Judges the files that an archive would write, and returns whether they are known. If not, the program's own rule asks. */
export function judgeArchive(call: ProgramCall, file: Arg | undefined, folder: Arg | undefined, strip = 0): boolean {
  const found = file && lookAt(call, file)
  const written = found?.is === 'file' ? readArchive(found.bytes) : undefined
  if (!file || !written) return false
  judgeNames(call, { written, at: file, folder, spell: name => [name.split('/').slice(strip).join('/')] })
  return true
}

/** Whether the folder into which files are unpacked is there and empty, in the project or in /tmp. */
export function isEmptyFolder(call: ProgramCall, folder: Arg | undefined): boolean {
  const { scope, fence } = call
  if (folder === undefined || scope.cwd === undefined || !staysInSandbox(folder, call)) return false
  const place = locatePath(folder.value, scope.cwd, fence)
  const found = place.where === 'strange' ? undefined : fence.look?.(place.path)
  return found?.is === 'folder' && found.names.length === 0
}

/**
 * Packing files of the project into an archive there is like a copy of them. Whole projects are left to a person, because they hold secrets,
 * and so is an archive whose name could be that of another file.
 */
export function judgePacked(
  call: ProgramCall,
  archive: Arg | undefined,
  sources: readonly Arg[],
  isPlain: boolean,
): undefined {
  const { scope, fence } = call
  const isOwn = (arg: Arg) => {
    const place = locatePath(arg.value, scope.cwd ?? fence.boundary, fence)
    return arg.known && place.where === 'inside' && place.relative !== '' && !/(^|\/)\.[\w*?[]|^[*?[]/.test(arg.value)
  }
  const isUsual =
    isPlain &&
    scope.cwd !== undefined &&
    archive !== undefined &&
    /^[\w./@-]+\.(tar(\.\w+)?|tgz|tbz2?|txz|zip|7z)$/.test(archive.value) &&
    sources.length > 0 &&
    sources.every(isOwn)
  call.say(isUsual ? 'file.make' : 'file.archive', 'MEDIUM', `${call.name} packs files`)
  for (const arg of sources) call.secret(arg)
  if (archive && archive.value !== '-') call.path(archive, 'write')
}

interface JudgedNames {
  written: WrittenNames | undefined
  at: Arg
  folder: Arg | undefined
  /** The paths that a name may become. */
  spell: (name: string) => string[]
}

/** More folders than this are not followed on the disk. */
const MAX_FOLDERS = 64

function judgeNames(call: ProgramCall, { written, at, folder, spell }: JudgedNames): undefined {
  if (written === undefined)
    return call.say('write.unseen', 'MEDIUM', `it is not known which files ${at.text} writes`, at)
  const out = written.links.find(target => target.startsWith('/') || target.split('/').includes('..'))
  if (out !== undefined) call.say('file.link-out', 'HIGH', `${at.text} holds a link that leads out of its folder`, at)
  const base = folder?.known ? `${folder.value}/` : ''
  const folders = new Set<string>()
  for (const name of written.names)
    for (const spelled of spell(name)) {
      if (spelled === '' || spelled.endsWith('/')) continue
      const path = spelled.startsWith('/') ? spelled : `${base}${spelled}`
      // A plain name is ordinary if its folder is: a link may lead out.
      const isPlain = !path.startsWith('/') && !/(^|\/)\.|[^\w./@+-]/.test(path)
      if (isPlain && folders.has(dirname(path))) continue
      if (folders.size >= MAX_FOLDERS)
        return call.say('write.unseen', 'MEDIUM', `${at.text} writes files in very many folders`, at)
      folders.add(dirname(path))
      judgeWrittenPath(call, path, at)
    }
}

function judgeWrittenPath(call: ProgramCall, path: string, at: Arg): undefined {
  const { cwd } = call.scope
  if (cwd === undefined) return call.path(deriveArg(path, at), 'write')
  const reason = judgePath(path, 'write', { cwd, fence: call.fence })
  if (reason.risk !== 'LOW') call.say(reason.code, reason.risk, `${at.text} writes ${reason.text}`, at)
}

/**
 * Judges a folder that is copied as a whole into another: its files keep their names there. Only files that steer the agent, git or
 * programs at the top of the project count, because a copy of a whole project elsewhere in it is harmless.
 */
export function judgeCopiedFolder(call: ProgramCall, source: Arg, target: Arg): undefined {
  const found = lookAt(call, source)
  if (found?.is !== 'folder' || call.scope.cwd === undefined || !target.known) return
  const inner = source.value.replace(/\/+$/, '').replace(/^.*\//, '')
  const left = new Set(call.args.flatMap(arg => /^--exclude=\/?(.+?)\/?$/.exec(arg.value)?.[1] ?? []))
  for (const name of found.names) {
    if (left.has(name.split('/')[0] ?? '') || !/(^|\/)\./.test(name)) continue
    for (const path of [`${target.value}/${name}`, `${target.value}/${inner}/${name}`]) {
      const place = locatePath(path, call.scope.cwd, call.fence)
      if (place.where !== 'inside' || !place.relative.startsWith('.')) continue
      const { code, risk, text } = judgePath(path, 'write', { cwd: call.scope.cwd, fence: call.fence })
      if (risk === 'HIGH') return call.say(code, risk, `${source.text} holds ${name}: ${text}`, source)
    }
  }
}

/** What a word names, if it is in the project: files elsewhere are not read. */
function lookAt({ scope, fence }: ProgramCall, arg: Arg): FoundFile | undefined {
  if (!arg.known || arg.glob || scope.cwd === undefined) return undefined
  const place = locatePath(arg.value, scope.cwd, fence)
  return place.where === 'inside' ? fence.look?.(place.path) : undefined
}
