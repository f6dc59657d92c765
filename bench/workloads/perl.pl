use strict;
use warnings;

my %values_of;
for my $i (1 .. 500_000) {
  push @{ $values_of{ "key " . $i % 120_000 } }, "value $i";
}
my $total = 0;
for my $key (sort keys %values_of) {
  $total += length join ",", map { uc } @{ $values_of{$key} };
}
print "$total\n";
