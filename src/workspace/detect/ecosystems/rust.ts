import { tableIn, textsIn } from '../folder.ts'
import { type Ecosystem, usual } from '../found.ts'

/** Rust: cargo. */
export const rust: Ecosystem = async folder => {
  if (!folder.has('Cargo.toml')) return undefined
  const manifest = await folder.toml('Cargo.toml')
  const workspace = tableIn(manifest, 'workspace')
  const isWorkspace = Object.hasOwn(manifest ?? {}, 'workspace')
  const all = isWorkspace ? ' --workspace' : ''
  const from = 'Cargo.toml'
  return {
    ecosystem: 'rust',
    manager: 'cargo',
    manager_from: folder.first(['Cargo.lock']) ?? from,
    commands: [
      usual('setup', folder.has('Cargo.lock') ? 'cargo fetch --locked' : 'cargo fetch', from),
      usual('build', `cargo build${all}`, from),
      usual('typecheck', `cargo check${all} --all-targets`, from),
      usual('lint', `cargo clippy${all} --all-targets`, from),
      usual('format', 'cargo fmt --all --check', from),
      usual('test', `cargo test${all}`, from),
    ],
    members: textsIn(workspace['members']),
  }
}
