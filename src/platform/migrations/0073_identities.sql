-- People as identity providers know them, for sign-in in the browser: an issuer's subject is one person, for good.

create table identities (
  issuer text not null check (length(issuer) <= 2048),
  subject text not null check (length(subject) between 1 and 255),
  user_id uuid not null references users,
  created_at timestamptz not null default now(),
  signed_in_at timestamptz not null default now(),
  primary key (issuer, subject)
);
create index identities_user on identities (user_id);
